#include "olap/execution/group/direct_groups.h"

#include <algorithm>

namespace diptych::olap {

namespace {

constexpr uint64_t kPlacesARow = 8;  // at most, of the rows that came
constexpr int64_t kLeastRoom = 8;    // an eighth
constexpr uint64_t kPlacesMin = 4096;
constexpr uint64_t kPlacesMax = uint64_t{1} << 24;  // 64 MiB

template <class T>
void widen_to(const Vector& key, const Selection& rows, ValueBounds* bounds) {
  const T* const values = key.as<T>();
  ValueBounds widened = *bounds;
  for_selected(rows, [&](uint32_t slot) {
    widened.min = std::min<int64_t>(widened.min, values[slot]);
    widened.max = std::max<int64_t>(widened.max, values[slot]);
  });
  *bounds = widened;
}

void widen_to(std::span<const Vector> keys, const Selection& rows,
              std::vector<ValueBounds>* bounds) {
  for (size_t c = 0; c < keys.size(); ++c) {
    const bool narrow = keys[c].type == PhysicalType::kInt32;
    narrow ? widen_to<int32_t>(keys[c], rows, &(*bounds)[c])
           : widen_to<int64_t>(keys[c], rows, &(*bounds)[c]);
  }
}

// `widened`, with one in `part` of its values again in each direction in which it goes beyond
// `before`.
ValueBounds with_room(const ValueBounds& before, const ValueBounds& widened, int64_t part) {
  ValueBounds roomy = widened;
  int64_t range = 0;
  if (__builtin_sub_overflow(widened.max, widened.min, &range)) return widened;
  range /= part;
  if (widened.min < before.min && __builtin_sub_overflow(widened.min, range, &roomy.min)) {
    roomy.min = INT64_MIN;
  }
  if (widened.max > before.max && __builtin_add_overflow(widened.max, range, &roomy.max)) {
    roomy.max = INT64_MAX;
  }
  return roomy;
}

}  // namespace

DirectGroups::DirectGroups(std::span<const KeyColumn> columns, const KeyPacker& packer,
                           const KeyTable& table, const StopSignal& stop)
    : packer_(packer), table_(table), stop_(stop) {
  const bool integers = std::all_of(columns.begin(), columns.end(), [](const KeyColumn& column) {
    return column.type == PhysicalType::kInt32 || column.type == PhysicalType::kInt64;
  });
  if (!integers) return;
  for (const KeyColumn& column : columns) types_.push_back(column.type);
}

bool DirectGroups::find(std::span<const Vector> keys, const Selection& rows, uint32_t* groups) {
  if (types_.empty()) return false;
  if (std::any_of(keys.begin(), keys.end(),
                  [&](const Vector& key) { return has_null(key, rows); })) {
    give_up();
    return false;
  }
  rows_ += rows.count;
  new_rows_.count = 0;
  if (!dense_.has_value() && (rows_ < rows_to_retry_ || !cover(keys, rows))) return false;
  uint32_t places[kVectorRows];
  dense_->number(keys, rows, places);
  if (look_up(rows, places, groups)) return true;
  const uint32_t outside = dense_->size();
  bool all_inside = true;
  for_selected(rows, [&](uint32_t slot) { all_inside &= places[slot] != outside; });
  if (!all_inside) {
    if (!cover(keys, rows)) return false;
    dense_->number(keys, rows, places);
  }
  add_new(rows, places, groups);
  return true;
}

void DirectGroups::give_up() {
  types_.clear();
  dense_.reset();
  groups_ = GrowingArray<uint32_t>();
}

// False where a row's group is not known: its key is new, or out of bounds.
bool DirectGroups::look_up(const Selection& rows, const uint32_t* places, uint32_t* groups) const {
  const uint32_t* const by_place = groups_.data();
  bool known = true;
  for_numbered(rows, [&](uint32_t k, uint32_t slot) {
    const uint32_t group = by_place[places[slot]];
    known &= group != 0;
    groups[k] = group - 1;
  });
  return known;
}

void DirectGroups::add_new(const Selection& rows, const uint32_t* places, uint32_t* groups) {
  uint32_t next = table_.size();
  uint64_t first_rows[kVectorWords] = {};
  for_numbered(rows, [&](uint32_t k, uint32_t slot) {
    uint32_t& group = groups_[places[slot]];
    if (group == 0) {
      group = ++next;
      set_bit(first_rows, slot);
    }
    groups[k] = group - 1;
  });
  select_bits(first_rows, rows.slots, &new_rows_);
}

// Makes places for these rows' keys, beside those of the table; false where they would be too many.
bool DirectGroups::cover(std::span<const Vector> keys, const Selection& rows) {
  if (!dense_.has_value()) {
    bounds_.assign(types_.size(), {});
    for_table_keys([&](uint32_t, std::span<const Vector> table_keys, const Selection& all) {
      widen_to(table_keys, all, &bounds_);
    });
  }
  std::vector<ValueBounds> widened = bounds_;
  widen_to(keys, rows, &widened);
  const uint64_t places_max = std::clamp(kPlacesARow * rows_, kPlacesMin, kPlacesMax);
  dense_.reset();
  for (int64_t part = 1; part <= kLeastRoom && !dense_.has_value(); part *= 2) {
    std::vector<ValueBounds> roomy;
    for (size_t c = 0; c < widened.size(); ++c) {
      roomy.push_back(with_room(bounds_[c], widened[c], part));
    }
    dense_ = DenseKeys::make(roomy, places_max);
    if (dense_.has_value()) bounds_ = std::move(roomy);
  }
  if (!dense_.has_value()) {
    // Without room each batch might widen them: all groups would be placed again each time.
    if (rows_ >= rows_to_retry_) dense_ = DenseKeys::make(widened, places_max);
    bounds_ = std::move(widened);
    rows_to_retry_ = 2 * rows_;
  }
  groups_ = GrowingArray<uint32_t>();
  if (!dense_.has_value()) return false;
  groups_.resize(dense_->size() + size_t{1});  // the last one for keys out of bounds
  stop_.fill(groups_.data(), groups_.size(), uint32_t{0});
  for_table_keys([&](uint32_t first, std::span<const Vector> table_keys, const Selection& all) {
    uint32_t places[kVectorRows];
    dense_->number(table_keys, all, places);
    for (uint32_t i = 0; i < all.count; ++i) groups_[places[i]] = first + i + 1;
  });
  return true;
}

// f(the first one's number, keys, their selection), a vector's worth at a time.
template <class F>
void DirectGroups::for_table_keys(const F& f) const {
  std::vector<VectorBuffer> buffers;
  for (const PhysicalType type : types_) buffers.emplace_back(type);
  std::vector<Vector> keys(types_.size());
  Selection all;
  for (uint32_t first = 0; first < table_.size(); first += kVectorRows) {
    stop_.check();
    select_all(std::min(kVectorRows, table_.size() - first), &all);
    for (size_t c = 0; c < keys.size(); ++c) {
      keys[c] = packer_.unpack(c, table_.keys(), first, all.count, &buffers[c]);
    }
    f(first, keys, all);
  }
}

}  // namespace diptych::olap
