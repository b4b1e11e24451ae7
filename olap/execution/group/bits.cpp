// bit_and, bit_or and bit_xor of integers. Benchmark: none; a group's state is its value.

#include "olap/execution/group/aggregate_column.h"
#include "olap/execution/limits/query_failure.h"
#include "olap/execution/vector/column_store.h"

namespace diptych::olap {

namespace {

template <class T>
class BitsColumn : public AggregateColumn {
 public:
  explicit BitsColumn(AggregateKind kind) : kind_(kind) {}

  void resize(uint32_t groups) override {
    // What leaves the first value as it is.
    values_.resize(groups, kind_ == AggregateKind::kBitAnd ? T{-1} : T{0});
    seen_.resize(groups, 0);
  }
  size_t memory_bytes() const override { return values_.bytes() + seen_.bytes(); }

  void update(const Vector& argument, const Selection& rows, const uint32_t* groups) override {
    const T* const values = argument.as<T>();
    for_numbered(rows, [&](uint32_t k, uint32_t slot) {
      if (!argument.is_null(slot)) add(groups == nullptr ? 0 : groups[k], values[slot]);
    });
  }

  void merge(const AggregateColumn& other, const GroupMerge& groups) override {
    const StopSignal& stop = groups.workers.stop();
    const auto& column = static_cast<const BitsColumn&>(other);
    for (uint32_t i = 0; i < groups.size(); ++i) {
      stop.check_at(i);
      const uint32_t from = groups.from(i);
      if (column.seen_[from] != 0) add(groups.to[i], column.values_[from]);
    }
  }

  Vector result(uint32_t first, uint32_t count, VectorBuffer* results) const override {
    results->clear_nulls();
    for (uint32_t i = 0; i < count; ++i) {
      if (seen_[first + i] == 0) set_bit(results->nulls(), i);
      results->values<T>()[i] = values_[first + i];
    }
    return results->view_with_nulls();
  }

 private:
  void add(uint32_t group, T value) {
    seen_[group] = 1;
    T& bits = values_[group];
    switch (kind_) {
      case AggregateKind::kBitAnd: bits &= value; break;
      case AggregateKind::kBitOr: bits |= value; break;
      default: bits ^= value; break;
    }
  }

  AggregateKind kind_;
  GrowingArray<T> values_;
  GrowingArray<uint8_t> seen_;
};

}  // namespace

std::unique_ptr<AggregateColumn> make_bits(const Aggregate& aggregate) {
  switch (physical_type(aggregate.argument->type)) {
    case PhysicalType::kInt32: return std::make_unique<BitsColumn<int32_t>>(aggregate.kind);
    case PhysicalType::kInt64: return std::make_unique<BitsColumn<int64_t>>(aggregate.kind);
    default: break;
  }
  fail_query(base::ErrorCode::kUnsupported, "bits are of integers");
}

}  // namespace diptych::olap
