// Ids: strong integer types, so that a RowID is never taken for a TID.
//
// Vid     version id; each committed update transaction gets the next one, 0 is the initial state.
// RowId   names a row of a table for its life; assigned by the OLTP replica; hidden from users.
// Tid     where a row lives in the OLAP replica: partition and ordinal; fixed while the row lives.

#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace diptych::base {

template <class Tag, class Integer>
struct StrongId {
  using integer_type = Integer;

  Integer value = 0;

  constexpr StrongId() = default;
  constexpr explicit StrongId(Integer v) : value(v) {}
  constexpr auto operator<=>(const StrongId&) const = default;
};

using Vid = StrongId<struct VidTag, uint64_t>;
using RowId = StrongId<struct RowIdTag, uint64_t>;
using TableId = StrongId<struct TableIdTag, uint32_t>;
using IndexId = StrongId<struct IndexIdTag, uint32_t>;    // unique over all tables of a catalog
using ColumnId = StrongId<struct ColumnIdTag, uint16_t>;  // position in the table, from 0
using ProcedureId = StrongId<struct ProcedureIdTag, uint32_t>;
using WorkerId = StrongId<struct WorkerIdTag, uint32_t>;
using NumaNode = StrongId<struct NumaNodeTag, uint32_t>;
using PartitionId = StrongId<struct PartitionIdTag, uint32_t>;

// RowIDs of one aligned run lie in one partition of the OLAP replica: rows that are inserted one
// after the other mostly lie side by side in it, and an index of it can be made of arrays.
inline constexpr uint64_t kRowIdRun = 256;

struct Tid {
  PartitionId partition;
  uint32_t ordinal = 0;

  constexpr auto operator<=>(const Tid&) const = default;
};

}  // namespace diptych::base

template <class Tag, class Integer>
struct std::hash<diptych::base::StrongId<Tag, Integer>> {
  size_t operator()(diptych::base::StrongId<Tag, Integer> id) const noexcept {
    return std::hash<Integer>()(id.value);
  }
};
