// Vector, Selection, Batch: the data that flows through a query's operators.
//
// A Batch has at most kVectorRows row slots, column by column, and a Selection of the slots that
// hold rows. Filters and joins narrow the selection and leave the columns in place, so columns of a
// scan stay views of the leaf's memory until an operator has to keep rows.
//
// Physical types
//   INT, DATE: int32_t    BIGINT, DECIMAL up to 18 digits, TIMESTAMP: int64_t
//   DECIMAL over 18 digits: int128_t    DOUBLE: double    BOOLEAN: uint8_t (0 or 1)
//   INTERVAL: base::Interval    CHAR, VARCHAR, TEXT: base::StringRef
//
// Invariants
//   V1  A Vector has `slots` readable values, whatever is selected. Unselected values have no
//       meaning, and unselected strings must not be dereferenced. A column that nothing reads
//       (needed_columns.h) has no values; a late column (late_columns.h) has row numbers.
//   V2  Vectors and selections are valid until the push() that delivered them returns.
//   V3  Selection::rows is ascending, and filled unless every slot is selected. Bits from `slots`
//       on are zero.
//   V4  In a coded Vector every slot has the code of an entry, also if it is unselected or null.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "base/check.h"
#include "base/int128.h"
#include "base/interval.h"
#include "base/string_ref.h"
#include "base/types.h"
#include "olap/plan.h"
#include "storage/leaf.h"

namespace diptych::olap {

using base::int128_t;
using storage::kVectorRows;
using storage::encoding::TextCodes;
inline constexpr uint32_t kVectorWords = kVectorRows / 64;
static_assert(kVectorRows % 64 == 0, "null and selection bits come in whole words");

enum class PhysicalType : uint8_t { kInt32, kInt64, kInt128, kDouble, kBool, kInterval, kString };

PhysicalType physical_type(const base::DataType& type);
size_t physical_bytes(PhysicalType type);

// Calls f with a value of the C++ type that represents the physical type.
template <class F>
decltype(auto) with_physical_type(PhysicalType type, F&& f) {
  switch (type) {
    case PhysicalType::kInt32: return f(int32_t{});
    case PhysicalType::kInt64: return f(int64_t{});
    case PhysicalType::kInt128: return f(int128_t{});
    case PhysicalType::kDouble: return f(double{});
    case PhysicalType::kBool: return f(uint8_t{});
    case PhysicalType::kInterval: return f(base::Interval{});
    case PhysicalType::kString: break;
  }
  return f(base::StringRef{});
}

// The lifetime of the bytes of long strings in a vector: the whole query (they belong to the
// replica or the plan), or the time given by V2.
enum class StringLife : uint8_t { kQuery, kBatch };

struct Vector {
  PhysicalType type = PhysicalType::kInt64;
  StringLife string_life = StringLife::kQuery;
  bool constant = false;  // every slot holds the same value (a hint)
  const void* values = nullptr;
  const uint64_t* nulls = nullptr;   // bit i set: slot i is null; nullptr: no slot is null
  const TextCodes* coded = nullptr;  // the dictionary codes of texts, if known (V4)

  template <class T>
  const T* as() const {
    return static_cast<const T*>(values);
  }
  bool is_null(uint32_t slot) const {
    return nulls != nullptr && ((nulls[slot / 64] >> (slot % 64)) & 1) != 0;
  }
};

struct Selection {
  uint32_t slots = 0;
  uint32_t count = 0;
  alignas(64) uint64_t bits[kVectorWords];
  uint16_t rows[kVectorRows];

  bool all() const { return count == slots; }
  uint32_t row(uint32_t k) const { return all() ? k : rows[k]; }
};

struct Batch {
  std::vector<Vector> columns;
  const Selection* selection = nullptr;
  // By slot: the build row that a join below found, if a GROUP BY needs it (group_join.h).
  const uint32_t* build_rows = nullptr;
};

// True if one of the selected rows is null.
bool has_null(const Vector& vector, const Selection& rows);

// Selects every slot.
void select_all(uint32_t slots, Selection* selection);

// Selects the slots whose bit is set. Bits from `slots` on are ignored. `bits` may be the
// selection's own. Benchmark: BM_SelectBits.
void select_bits(const uint64_t* bits, uint32_t slots, Selection* selection);

// The loops below keep the counts in local variables. Otherwise f could write to them, as far as
// the compiler knows, and it could not vectorise the loops.

// Calls f(k, slot) for the k-th selected slot.
template <class F>
inline void for_numbered(const Selection& selection, F&& f) {
  if (selection.all()) {
    const uint32_t slots = selection.slots;
    for (uint32_t i = 0; i < slots; ++i) f(i, i);
  } else {
    const uint32_t count = selection.count;
    for (uint32_t k = 0; k < count; ++k) f(k, static_cast<uint32_t>(selection.rows[k]));
  }
}

// Calls f(slot) for exactly the selected slots, ascending.
template <class F>
inline void for_selected(const Selection& selection, F&& f) {
  for_numbered(selection, [&f](uint32_t, uint32_t slot) { f(slot); });
}

// True if a vectorised loop over all slots is faster than a loop over the selected slots.
inline bool is_dense(const Selection& selection) {
  return selection.count * 8 >= selection.slots;
}

// Calls f(slot) for at least the selected slots; for operations that are cheap and cannot trap.
template <class F>
inline void for_slots(const Selection& selection, F&& f) {
  if (is_dense(selection)) {
    const uint32_t slots = selection.slots;
    for (uint32_t i = 0; i < slots; ++i) f(i);
  } else {
    for_selected(selection, f);
  }
}

using storage::bit_at;
inline void set_bit(uint64_t* bits, uint64_t index) {
  bits[index / 64] |= uint64_t{1} << (index % 64);
}

// VectorBuffer: memory for one vector of kVectorRows values, initially zero, and its null bits.
class VectorBuffer {
 public:
  explicit VectorBuffer(PhysicalType type);

  PhysicalType type() const { return type_; }
  template <class T>
  T* values() {
    return reinterpret_cast<T*>(values_.get());
  }
  uint64_t* nulls() { return nulls_; }
  void clear_nulls();

  // A view without nulls, and one with the buffer's own null bits.
  Vector view() const;
  Vector view_with_nulls() const;

 private:
  struct Release {
    void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{64}); }
  };
  PhysicalType type_;
  std::unique_ptr<std::byte[], Release> values_;
  alignas(64) uint64_t nulls_[kVectorWords] = {};
};

// The union of two vectors' null bits: the bits of one of them, or `merged`, or nullptr if neither
// has nulls.
const uint64_t* merge_nulls(const Vector& a, const Vector& b, uint32_t slots, uint64_t* merged);

inline uint32_t words_of(uint32_t slots) {
  return (slots + 63) / 64;
}

}  // namespace diptych::olap
