// Aggregates of distinct values: a set of (group, value) pairs, packed as keys of two columns; when
// all rows are in, the aggregate itself sees each pair once.

#include <algorithm>
#include <vector>

#include "olap/execution/aggregate_column.h"
#include "olap/execution/key_table.h"

namespace diptych::olap {

namespace {

class DistinctColumn : public AggregateColumn {
 public:
  DistinctColumn(PhysicalType argument, std::unique_ptr<AggregateColumn> inner,
                 const StopSignal& stop)
      : inner_(std::move(inner)),
        types_{argument, PhysicalType::kInt32},
        packer_(types_, NullKeys::kNever),
        pairs_(packer_, stop),
        values_(argument),
        groups_(PhysicalType::kInt32),
        keys_(size_t{kVectorRows} * packer_.words()),
        hashes_(kVectorRows),
        numbers_(kVectorRows) {}

  void resize(uint32_t groups) override { inner_->resize(groups); }
  size_t memory_bytes() const override {
    return inner_->memory_bytes() + pairs_.memory_bytes() + pairs_split_.memory_bytes();
  }
  uint64_t kept_values() const override { return pairs_.size(); }

  void update(const Vector& argument, const Selection& rows, const uint32_t* groups) override {
    auto* const by_slot = groups_.values<int32_t>();
    uint64_t present[kVectorWords];
    for_numbered(rows, [&](uint32_t k, uint32_t slot) {
      by_slot[slot] = static_cast<int32_t>(groups == nullptr ? 0 : groups[k]);
    });
    for (uint32_t w = 0; w < words_of(rows.slots); ++w) {
      present[w] = rows.bits[w] & ~(argument.nulls == nullptr ? 0 : argument.nulls[w]);
    }
    select_bits(present, rows.slots, &present_);
    pack(argument);
    insert(present_.count, argument.string_life);
  }

  void split(const GroupSplit& groups, const StopSignal& stop) override {
    // The groups of a vector's worth of pairs at a time.
    VectorBuffer buffer(PhysicalType::kInt32);
    GrowingArray<uint8_t> partition_of;
    partition_of.resize(pairs_.size());
    for (uint32_t first = 0; first < pairs_.size(); first += kVectorRows) {
      stop.check();
      const uint32_t count = std::min(kVectorRows, pairs_.size() - first);
      const auto* const group =
          packer_.unpack(1, pairs_.keys(), first, count, &buffer).as<int32_t>();
      for (uint32_t i = 0; i < count; ++i) {
        partition_of[first + i] =
            static_cast<uint8_t>(groups.partition_of(static_cast<uint32_t>(group[i])));
      }
    }
    pairs_split_ = NumbersByPartition(pairs_.size(), groups.partitions(), stop,
                                      [&](uint32_t pair) { return partition_of[pair]; });
  }

  void merge(const AggregateColumn& other, const GroupMerge& groups,
             const StopSignal& stop) override {
    const auto& column = static_cast<const DistinctColumn&>(other);
    const bool whole = groups.split.is_whole();
    const uint32_t pairs =
        whole ? column.pairs_.size() : column.pairs_split_.size(groups.partition);
    const bool all_new = pairs_.size() == 0;
    if (all_new) pairs_.reserve(pairs);
    VectorBuffer old_groups(PhysicalType::kInt32);
    const uint32_t words = packer_.words();
    for (uint32_t first = 0; first < pairs; first += kVectorRows) {
      stop.check();
      const uint32_t count = std::min(kVectorRows, pairs - first);
      for (uint32_t i = 0; i < count; ++i) {
        const uint32_t pair =
            whole ? first + i : column.pairs_split_.at(groups.partition, first + i);
        std::copy_n(column.pairs_.keys() + size_t{pair} * words, words, &keys_[size_t{i} * words]);
      }
      const Vector value = packer_.unpack(0, keys_.data(), 0, count, &values_);
      const Vector group = packer_.unpack(1, keys_.data(), 0, count, &old_groups);
      for (uint32_t i = 0; i < count; ++i) {
        const auto old = static_cast<uint32_t>(group.as<int32_t>()[i]);
        groups_.values<int32_t>()[i] = static_cast<int32_t>(groups.to_of(old));
      }
      select_all(count, &present_);
      pack(value);
      if (all_new && !packer_.has_texts()) {
        pairs_.insert_new(keys_.data(), hashes_.data(), count, numbers_.data());
      } else {
        insert(count, StringLife::kBatch);
      }
    }
  }

  void finish(const QueryLimits& limits) override {
    for (uint32_t first = 0; first < pairs_.size(); first += kVectorRows) {
      limits.stop->check_at(first);
      const uint32_t count = std::min(kVectorRows, pairs_.size() - first);
      const Vector value = packer_.unpack(0, pairs_.keys(), first, count, &values_);
      const Vector group = packer_.unpack(1, pairs_.keys(), first, count, &groups_);
      std::copy_n(group.as<int32_t>(), count, numbers_.begin());
      select_all(count, &present_);
      inner_->update(value, present_, numbers_.data());
    }
    inner_->finish(limits);
  }

  Vector result(uint32_t first, uint32_t count, VectorBuffer* results) const override {
    return inner_->result(first, count, results);
  }

 private:
  // (value, groups_) of the present_ rows to keys_ and hashes_.
  void pack(const Vector& value) {
    const Vector columns[] = {value, groups_.view()};
    packer_.pack(columns, present_, keys_.data(), hashes_.data());
  }
  void insert(uint32_t count, StringLife life) {
    pairs_.find_or_insert(keys_.data(), hashes_.data(), count, life, numbers_.data());
  }

  std::unique_ptr<AggregateColumn> inner_;
  PhysicalType types_[2];
  KeyPacker packer_;
  KeyTable pairs_;
  NumbersByPartition pairs_split_;  // from split() on
  VectorBuffer values_;
  VectorBuffer groups_;
  Selection present_;
  std::vector<uint64_t> keys_;
  std::vector<uint64_t> hashes_;
  std::vector<uint32_t> numbers_;
};

}  // namespace

std::unique_ptr<AggregateColumn> make_distinct(PhysicalType argument,
                                               std::unique_ptr<AggregateColumn> inner,
                                               const StopSignal& stop) {
  return std::make_unique<DistinctColumn>(argument, std::move(inner), stop);
}

}  // namespace diptych::olap
