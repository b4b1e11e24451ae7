// DirectGroups: finds the groups of integer keys by direct addressing. An array holds each group's
// number at its key's dense number (dense_keys.h); no key is packed, hashed or compared.
//
// The keys' bounds are not known beforehand. They widen as keys arrive, by doubling, or by an
// eighth if there is no room for more. (Widening by less would move all groups again for each
// batch: 9 M groups of two ascending keys took 5.7 s and not 0.14 s.) While the array would be
// large compared with the rows so far, the key table finds the groups; direct addressing is tried
// again after twice as many rows. The groups' keys are in the table either way.
//
// Threads    one worker.

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
  // Keeps references to the arguments. The table finds keys of other types, and all keys from the
  // first null on.
  DirectGroups(std::span<const KeyColumn> columns, const KeyPacker& packer, const KeyTable& table,
               const StopSignal& stop);

  // Sets groups[k] to the group of the k-th selected row; new groups are numbered from the table's
  // size() on. Returns false if the table has to find these rows' groups. Benchmark: BM_GroupByInt.
  bool find(std::span<const Vector> keys, const Selection& rows, uint32_t* groups);
  // After find(): the first row of each new group, in order; the caller append()s them to the
  // table.
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
  std::vector<PhysicalType> types_;  // empty: no direct addressing
  std::vector<ValueBounds> bounds_;
  std::optional<DenseKeys> dense_;  // for these bounds; nullopt: the table finds the groups
  GrowingArray<uint32_t> groups_;   // by place: the group's number plus one; 0: no group
  uint64_t rows_ = 0;               // rows so far
  uint64_t rows_to_retry_ = 0;      // number of rows after which to try again
  Selection new_rows_;
};

}  // namespace diptych::olap
