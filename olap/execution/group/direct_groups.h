// DirectGroups: finds the groups of integer keys by direct addressing: a group's number lies in an
// array at its key's dense number (dense_keys.h), and no key is packed, hashed or compared.
//
// The keys' bounds are not known beforehand: they widen as keys come, by doubling, or by an eighth
// where there is no room for more. Where the array would be large beside the rows that came, the
// key table finds the groups, until twice as many have come: to widen by less places all groups
// again for each batch of rows (9 M groups of two ascending keys took 5.7 s in place of 0.14 s).
// The groups' keys are in the table either way.
//
// Threads    one worker's.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "olap/execution/key/dense_keys.h"
#include "olap/execution/key/key_table.h"

namespace diptych::olap {

class DirectGroups {
 public:
  // Keeps references. Keys of other types are always found by the table, and from the first null on
  // all keys are.
  DirectGroups(std::span<const KeyColumn> columns, const KeyPacker& packer, const KeyTable& table,
               const StopSignal& stop);

  // groups[k] = the group of the k-th selected row; those that are new have the numbers from the
  // table's size() on. False: the table has to find these rows' groups. Benchmark: BM_GroupByInt.
  bool find(std::span<const Vector> keys, const Selection& rows, uint32_t* groups);
  // After find(): the first row of each new group, in their order, to be append()ed to the table.
  const Selection& new_rows() const { return new_rows_; }

  size_t memory_bytes() const { return groups_.bytes(); }

 private:
  bool look_up(const Selection& rows, const uint32_t* places, uint32_t* groups) const;
  void add_new(const Selection& rows, const uint32_t* places, uint32_t* groups);
  void give_up();
  bool cover(std::span<const Vector> keys, const Selection& rows);
  template <class F>
  void for_table_keys(const F& f) const;

  const KeyPacker& packer_;
  const KeyTable& table_;
  const StopSignal& stop_;
  std::vector<PhysicalType> types_;  // none: there is no direct addressing
  std::vector<ValueBounds> bounds_;
  std::optional<DenseKeys> dense_;  // of these bounds; nothing: the table finds the groups
  GrowingArray<uint32_t> groups_;   // by place: the group's number plus one; 0 is none
  uint64_t rows_ = 0;               // that came
  uint64_t rows_to_retry_ = 0;      // when so many have
  Selection new_rows_;
};

}  // namespace diptych::olap
