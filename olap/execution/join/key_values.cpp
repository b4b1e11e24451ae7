#include "olap/execution/join/key_values.h"

#include <algorithm>
#include <bit>

namespace diptych::olap {
namespace {

// f(the column's values, number of the first key, number of keys), a vector's worth at a time.
template <class F>
void for_key_column(const KeyTable& table, const KeyPacker& packer, size_t column,
                    PhysicalType type, const StopSignal& stop, F&& f) {
  VectorBuffer buffer(type);
  for (uint32_t first = 0; first < table.size(); first += kVectorRows) {
    stop.check();
    const uint32_t count = std::min(table.size() - first, kVectorRows);
    f(packer.unpack(column, table.keys(), first, count, &buffer), first, count);
  }
}

template <class T>
void widen(const Vector& values, uint32_t count, ValueBounds* bounds) {
  const T* const numbers = values.as<T>();
  const auto [least, greatest] = std::minmax_element(numbers, numbers + count);
  bounds->min = std::min<int64_t>(bounds->min, *least);
  bounds->max = std::max<int64_t>(bounds->max, *greatest);
}

}  // namespace

bool KeyValues::has_all(const KeyValues& others) const {
  // Modulo 2^64: what lies below min is far beyond the bits.
  const uint64_t ahead = static_cast<uint64_t>(others.min) - static_cast<uint64_t>(min);
  for (size_t w = 0; w < others.bits.size(); ++w) {
    for (uint64_t left = others.bits[w]; left != 0; left &= left - 1) {
      const uint64_t bit = ahead + w * 64 + static_cast<uint64_t>(std::countr_zero(left));
      if (bit / 64 >= bits.size() || ((bits[bit / 64] >> (bit % 64)) & 1) == 0) return false;
    }
  }
  return true;
}

std::optional<KeyColumnSet> KeyColumnSet::make(const KeyTable& table, const KeyPacker& packer,
                                               size_t column, PhysicalType type,
                                               uint64_t places_max, const StopSignal& stop) {
  if (table.size() == 0) return std::nullopt;
  ValueBounds bounds;
  for_key_column(table, packer, column, type, stop,
                 [&](const Vector& values, uint32_t /*first*/, uint32_t count) {
                   if (type == PhysicalType::kInt32) {
                     widen<int32_t>(values, count, &bounds);
                   } else {
                     widen<int64_t>(values, count, &bounds);
                   }
                 });
  auto dense = DenseKeys::make({&bounds, 1}, places_max);
  if (!dense) return std::nullopt;
  KeyColumnSet set(column, bounds, *std::move(dense));
  GrowingArray<uint32_t> places;
  places.resize(table.size());
  for_key_column(table, packer, column, type, stop,
                 [&](const Vector& values, uint32_t first, uint32_t count) {
                   Selection all;
                   select_all(count, &all);
                   set.dense_.number({&values, 1}, all, places.data() + first);
                 });
  set.places_.build(set.dense_.size(), &places, stop);
  return set;
}

void KeyColumnSet::select(const Vector& values, const Selection& rows, Selection* in_set) const {
  uint32_t places[kVectorRows];
  dense_.number({&values, 1}, rows, places);
  places_.select(places, rows, in_set);
}

}  // namespace diptych::olap
