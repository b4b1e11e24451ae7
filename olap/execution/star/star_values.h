// StarValues: numbers the distinct values of a group key that comes from a dimension table.
//
// A dimension row has a number in place of the value. The numbers are carried along the joins to
// the root, where they are part of a group's key (star_groups.h). So a text is hashed once for each
// dimension row, and not once for each root row.
//
// Use        each worker of a pass over the table has its own; merge() combines them.
// Threads    number() and merge(): one. read(): any number.
// Errors     QueryFailure(kOutOfMemory).

#pragma once

#include <cstdint>
#include <vector>

#include "olap/execution/key/key_table.h"
#include "olap/execution/limits/memory_budget.h"

namespace diptych::olap {

class StarValues {
 public:
  StarValues(PhysicalType type, const QueryLimits& limits);
  // Not copyable, because the table refers to the packer.
  StarValues(const StarValues&) = delete;
  StarValues& operator=(const StarValues&) = delete;

  PhysicalType type() const { return type_; }
  uint32_t size() const { return table_.size(); }

  // Sets numbers[slot] for the selected rows' values, which may be new; null is a value.
  void number(const Vector& values, const Selection& rows, uint32_t* numbers);
  // Adds the values of `other` and returns their numbers in this object, by their numbers there.
  std::vector<uint32_t> merge(const StarValues& other);

  // The values of `count` numbers, at most kVectorRows.
  Vector read(const uint32_t* numbers, uint32_t count, VectorBuffer* results) const;

 private:
  PhysicalType type_;
  KeyPacker packer_;
  KeyTable table_;
  std::vector<uint64_t> packed_;
  std::vector<uint64_t> hashes_;
  std::vector<uint32_t> found_;
  MemoryCharge charge_;
};

}  // namespace diptych::olap
