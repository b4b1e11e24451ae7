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
  DistinctColumn(PhysicalType argument, std::unique_ptr<AggregateColumn> inner)
      : inner_(std::move(inner)),
        types_{argument, PhysicalType::kInt32},
        packer_(types_, NullKeys::kNever),
        pairs_(packer_),
        values_(argument),
        groups_(PhysicalType::kInt32),
        keys_(size_t{kVectorRows} * packer_.words()),
        hashes_(kVectorRows),
        numbers_(kVectorRows) {}

  void resize(uint32_t groups) override { inner_->resize(groups); }
  size_t memory_bytes() const override { return inner_->memory_bytes() + pairs_.memory_bytes(); }

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
    insert(argument, argument.string_life);
  }

  void merge(const AggregateColumn& other, const uint32_t* groups,
             const StopSignal& stop) override {
    const auto& column = static_cast<const DistinctColumn&>(other);
    VectorBuffer old_groups(PhysicalType::kInt32);
    for (uint32_t first = 0; first < column.pairs_.size(); first += kVectorRows) {
      stop.check_at(first);
      const uint32_t count = std::min(kVectorRows, column.pairs_.size() - first);
      const Vector value = packer_.unpack(0, column.pairs_.keys(), first, count, &values_);
      const Vector group = packer_.unpack(1, column.pairs_.keys(), first, count, &old_groups);
      for (uint32_t i = 0; i < count; ++i) {
        const auto old = static_cast<uint32_t>(group.as<int32_t>()[i]);
        groups_.values<int32_t>()[i] = static_cast<int32_t>(groups[old]);
      }
      select_all(count, &present_);
      insert(value, StringLife::kBatch);
    }
  }

  void finish(const StopSignal& stop) override {
    for (uint32_t first = 0; first < pairs_.size(); first += kVectorRows) {
      stop.check_at(first);
      const uint32_t count = std::min(kVectorRows, pairs_.size() - first);
      const Vector value = packer_.unpack(0, pairs_.keys(), first, count, &values_);
      const Vector group = packer_.unpack(1, pairs_.keys(), first, count, &groups_);
      std::copy_n(group.as<int32_t>(), count, numbers_.begin());
      select_all(count, &present_);
      inner_->update(value, present_, numbers_.data());
    }
    inner_->finish(stop);
  }

  Vector result(uint32_t first, uint32_t count, VectorBuffer* results) const override {
    return inner_->result(first, count, results);
  }

 private:
  // Adds (value, groups_) of the present_ rows.
  void insert(const Vector& value, StringLife life) {
    const Vector columns[] = {value, groups_.view()};
    packer_.pack(columns, present_, keys_.data(), hashes_.data());
    pairs_.find_or_insert(keys_.data(), hashes_.data(), present_.count, life, numbers_.data());
  }

  std::unique_ptr<AggregateColumn> inner_;
  PhysicalType types_[2];
  KeyPacker packer_;
  KeyTable pairs_;
  VectorBuffer values_;
  VectorBuffer groups_;
  Selection present_;
  std::vector<uint64_t> keys_;
  std::vector<uint64_t> hashes_;
  std::vector<uint32_t> numbers_;
};

}  // namespace

std::unique_ptr<AggregateColumn> make_distinct(PhysicalType argument,
                                               std::unique_ptr<AggregateColumn> inner) {
  return std::make_unique<DistinctColumn>(argument, std::move(inner));
}

}  // namespace diptych::olap
