// GroupSplit: assigns a table's groups to partitions, so that the tables of several workers are
// merged one partition at a time. NumbersByPartition: the lists of groups by partition.
//
// A key's partition comes from the upper half of its hash. So equal keys of all tables meet in one
// partition, and a partition's table, which uses the lower half, fills evenly.
//
// Threads    immutable once built.

#pragma once

#include <cstdint>
#include <span>

#include "olap/execution/limits/growing_array.h"
#include "olap/execution/limits/stop_signal.h"
#include "olap/execution/threads/workers.h"

namespace diptych::olap {

// The numbers [0, count), each in one partition; within a partition they ascend.
class NumbersByPartition {
 public:
  NumbersByPartition() = default;
  // partition_of(number) is below `partitions`.
  template <class F>
  NumbersByPartition(uint32_t count, uint32_t partitions, const StopSignal& stop, F partition_of) {
    starts_.resize(partitions + size_t{1}, 0);
    for (uint32_t i = 0; i < count; ++i) {
      stop.check_at(i);
      ++starts_[partition_of(i)];
    }
    uint32_t end = 0;
    for (uint32_t p = 0; p <= partitions; ++p) starts_[p] = end += starts_[p];
    // From the last number to the first: what were ends become starts.
    numbers_.resize(count);
    for (uint32_t i = count; i-- > 0;) {
      stop.check_at(i);
      numbers_[--starts_[partition_of(i)]] = i;
    }
  }

  uint32_t size(uint32_t partition) const { return starts_[partition + 1] - starts_[partition]; }
  uint32_t at(uint32_t partition, uint32_t i) const { return numbers_[starts_[partition] + i]; }
  std::span<const uint32_t> all(uint32_t partition) const {
    return {numbers_.data() + starts_[partition], size(partition)};
  }
  size_t memory_bytes() const { return starts_.bytes() + numbers_.bytes(); }

 private:
  GrowingArray<uint32_t> starts_;  // by partition, and one more
  GrowingArray<uint32_t> numbers_;
};

class GroupSplit {
 public:
  static constexpr uint32_t kPartitionsMax = 256;

  // Puts all groups into one partition.
  explicit GroupSplit(uint32_t groups) : groups_(groups) {}
  // Splits the groups by the hashes of their keys, into 2 to kPartitionsMax partitions.
  GroupSplit(const uint64_t* hashes, uint32_t groups, uint32_t partitions, const StopSignal& stop)
      : groups_(groups), partitions_(partitions) {
    partition_of_.resize(groups);
    for (uint32_t g = 0; g < groups; ++g) {
      stop.check_at(g);
      partition_of_[g] = static_cast<uint8_t>(((hashes[g] >> 32) * partitions) >> 32);
    }
    lists_ = NumbersByPartition(groups, partitions, stop,
                                [this](uint32_t g) { return partition_of_[g]; });
    position_of_.resize(groups);
    for (uint32_t p = 0; p < partitions; ++p) {
      for (uint32_t i = 0; i < lists_.size(p); ++i) {
        stop.check_at(i);
        position_of_[lists_.at(p, i)] = i;
      }
    }
  }

  bool is_whole() const { return partitions_ == 1; }
  uint32_t partitions() const { return partitions_; }
  uint32_t size(uint32_t partition) const { return is_whole() ? groups_ : lists_.size(partition); }
  // The i-th group of a partition.
  uint32_t group(uint32_t partition, uint32_t i) const {
    return is_whole() ? i : lists_.at(partition, i);
  }
  uint32_t partition_of(uint32_t group) const { return is_whole() ? 0 : partition_of_[group]; }
  // The position of a group in its partition: the inverse of group().
  uint32_t position_of(uint32_t group) const { return is_whole() ? group : position_of_[group]; }
  size_t memory_bytes() const {
    return lists_.memory_bytes() + partition_of_.bytes() + position_of_.bytes();
  }

 private:
  uint32_t groups_;
  uint32_t partitions_ = 1;
  NumbersByPartition lists_;
  GrowingArray<uint8_t> partition_of_;
  GrowingArray<uint32_t> position_of_;
};

// The groups of one partition of another table, and their numbers in this table.
struct GroupMerge {
  const GroupSplit& split;  // of the other table's groups
  uint32_t partition;
  const uint32_t* to;      // to[i]: the number, in this table, of the other's group(partition, i)
  const Workers& workers;  // that share the merge

  uint32_t size() const { return split.size(partition); }
  uint32_t from(uint32_t i) const { return split.group(partition, i); }
  // The number of one of these groups in this table.
  uint32_t to_of(uint32_t group) const { return to[split.position_of(group)]; }
};

}  // namespace diptych::olap
