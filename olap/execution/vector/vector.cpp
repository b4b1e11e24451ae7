#include "olap/execution/vector/vector.h"

#include <algorithm>
#include <cstring>

#include "olap/execution/vector/probe_kernels.h"

namespace diptych::olap {

PhysicalType physical_type(const base::DataType& type) {
  switch (type.kind) {
    case base::TypeKind::kInt:
    case base::TypeKind::kDate: return PhysicalType::kInt32;
    case base::TypeKind::kBigInt:
    case base::TypeKind::kTimestamp: return PhysicalType::kInt64;
    case base::TypeKind::kDecimal:
      return is_wide(type) ? PhysicalType::kInt128 : PhysicalType::kInt64;
    case base::TypeKind::kDouble: return PhysicalType::kDouble;
    case base::TypeKind::kBoolean: return PhysicalType::kBool;
    case base::TypeKind::kInterval: return PhysicalType::kInterval;
    case base::TypeKind::kChar:
    case base::TypeKind::kVarchar: return PhysicalType::kString;
  }
  DIPTYCH_CHECK(false, "every type kind has a physical type");
}

size_t physical_bytes(PhysicalType type) {
  return with_physical_type(type, [](auto value) { return sizeof value; });
}

bool has_null(const Vector& vector, const Selection& rows) {
  if (vector.nulls == nullptr) return false;
  uint64_t nulls = 0;
  for (uint32_t w = 0; w < words_of(rows.slots); ++w) nulls |= vector.nulls[w] & rows.bits[w];
  return nulls != 0;
}

void select_all(uint32_t slots, Selection* selection) {
  DIPTYCH_DCHECK(slots <= kVectorRows, "a batch has at most kVectorRows slots");
  selection->slots = slots;
  selection->count = slots;
  for (uint32_t w = 0; w < kVectorWords; ++w) {
    const uint32_t first = w * 64;
    selection->bits[w] = slots >= first + 64 ? ~uint64_t{0}
                         : slots <= first    ? 0
                                             : (uint64_t{1} << (slots - first)) - 1;
  }
}

void select_bits(const uint64_t* bits, uint32_t slots, Selection* selection) {
  DIPTYCH_DCHECK(slots <= kVectorRows, "a batch has at most kVectorRows slots");
  const uint32_t words = words_of(slots);
  std::memmove(selection->bits, bits, words * sizeof(uint64_t));
  std::fill(selection->bits + words, selection->bits + kVectorWords, 0);
  if (slots % 64 != 0) selection->bits[words - 1] &= (uint64_t{1} << (slots % 64)) - 1;
  selection->slots = slots;
  uint64_t all = ~uint64_t{0};
  for (uint32_t w = 0; w < slots / 64; ++w) all &= selection->bits[w];
  if (slots % 64 != 0) all &= selection->bits[words - 1] | (~uint64_t{0} << (slots % 64));
  selection->count =
      all == ~uint64_t{0} ? slots : collect_positions(selection->bits, words, selection->rows);
}

VectorBuffer::VectorBuffer(PhysicalType type)
    : type_(type),
      values_(static_cast<std::byte*>(
          ::operator new[](kVectorRows* physical_bytes(type), std::align_val_t{64}))) {
  std::memset(values_.get(), 0, kVectorRows * physical_bytes(type));
}

void VectorBuffer::clear_nulls() {
  std::memset(nulls_, 0, sizeof nulls_);
}

Vector VectorBuffer::view() const {
  Vector vector;
  vector.type = type_;
  vector.values = values_.get();
  return vector;
}

Vector VectorBuffer::view_with_nulls() const {
  Vector vector = view();
  vector.nulls = nulls_;
  return vector;
}

const uint64_t* merge_nulls(const Vector& a, const Vector& b, uint32_t slots, uint64_t* merged) {
  if (a.nulls == nullptr) return b.nulls;
  if (b.nulls == nullptr) return a.nulls;
  for (uint32_t w = 0; w < words_of(slots); ++w) merged[w] = a.nulls[w] | b.nulls[w];
  return merged;
}

}  // namespace diptych::olap
