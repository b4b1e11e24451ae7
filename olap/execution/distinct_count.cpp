// count(distinct x): a set of (group, value) pairs, packed as keys of two columns.

#include <algorithm>
#include <vector>

#include "olap/execution/aggregate_column.h"
#include "olap/execution/key_table.h"

namespace diptych::olap {

namespace {

class DistinctCountColumn : public AggregateColumn {
 public:
  explicit DistinctCountColumn(PhysicalType argument)
      : types_{argument, PhysicalType::kInt32},
        packer_(types_, NullKeys::kNever),
        pairs_(packer_),
        values_(argument),
        groups_(PhysicalType::kInt32),
        keys_(size_t{kVectorRows} * packer_.words()),
        hashes_(kVectorRows),
        numbers_(kVectorRows) {}

  void resize(uint32_t groups) override { counts_.resize(groups, 0); }
  size_t memory_bytes() const override { return counts_.bytes() + pairs_.memory_bytes(); }

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

  void merge(const AggregateColumn& other, const uint32_t* groups) override {
    const auto& column = static_cast<const DistinctCountColumn&>(other);
    VectorBuffer old_groups(PhysicalType::kInt32);
    for (uint32_t first = 0; first < column.pairs_.size(); first += kVectorRows) {
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

  void finish() override {
    for (uint32_t first = 0; first < pairs_.size(); first += kVectorRows) {
      const uint32_t count = std::min(kVectorRows, pairs_.size() - first);
      const Vector group = packer_.unpack(1, pairs_.keys(), first, count, &groups_);
      for (uint32_t i = 0; i < count; ++i) {
        ++counts_[static_cast<uint32_t>(group.as<int32_t>()[i])];
      }
    }
  }

  Vector result(uint32_t first, uint32_t count, VectorBuffer* results) const override {
    std::copy_n(counts_.data() + first, count, results->values<int64_t>());
    return results->view();
  }

 private:
  // Adds (value, groups_) of the present_ rows.
  void insert(const Vector& value, StringLife life) {
    const Vector columns[] = {value, groups_.view()};
    packer_.pack(columns, present_, keys_.data(), hashes_.data());
    pairs_.find_or_insert(keys_.data(), hashes_.data(), present_.count, life, numbers_.data());
  }

  PhysicalType types_[2];
  KeyPacker packer_;
  KeyTable pairs_;
  VectorBuffer values_;
  VectorBuffer groups_;
  Selection present_;
  std::vector<uint64_t> keys_;
  std::vector<uint64_t> hashes_;
  std::vector<uint32_t> numbers_;
  GrowingArray<int64_t> counts_;
};

}  // namespace

std::unique_ptr<AggregateColumn> make_distinct_count(PhysicalType argument) {
  return std::make_unique<DistinctCountColumn>(argument);
}

}  // namespace diptych::olap
