// Aggregates of distinct values: a set of (group, value) pairs, packed as keys of two columns; when
// all rows are in, the aggregate itself sees each pair once.

#include <algorithm>
#include <span>
#include <vector>

#include "olap/execution/group/aggregate_column.h"
#include "olap/execution/key/key_table.h"
#include "olap/execution/key/word_set.h"

namespace diptych::olap {

namespace {

// Pairs of any type.
class TablePairs {
 public:
  TablePairs(const KeyPacker& packer, const QueryLimits& limits)
      : packer_(packer),
        table_(packer, limits, "the groups of a GROUP BY"),
        keys_(size_t{kVectorRows} * packer.words()),
        hashes_(kVectorRows),
        numbers_(kVectorRows) {}

  uint32_t size() const { return table_.size(); }
  size_t memory_bytes() const { return table_.memory_bytes(); }

  void add(std::span<const Vector> columns, const Selection& rows, StringLife life) {
    packer_.pack(columns, rows, keys_.data(), hashes_.data());
    table_.find_or_insert(keys_.data(), hashes_.data(), rows.count, life, numbers_.data());
  }
  // Another's pairs will be added.
  void expect(uint32_t pairs) {
    if (size() == 0) table_.reserve(pairs);
  }
  // Of pairs that are not there yet, each once.
  void add_new(std::span<const Vector> columns, const Selection& rows) {
    if (packer_.has_texts()) return add(columns, rows, StringLife::kBatch);
    packer_.pack(columns, rows, keys_.data(), hashes_.data());
    table_.insert_new(keys_.data(), hashes_.data(), rows.count, numbers_.data());
  }

  // As WordSet's.
  void make_dense() {}
  const uint64_t* key(uint32_t pair) const {
    return table_.keys() + size_t{pair} * packer_.words();
  }
  uint32_t read(uint64_t* place, uint64_t* keys) const {
    const auto first = static_cast<uint32_t>(*place);
    const uint32_t count = std::min(kVectorRows, size() - first);
    if (count != 0) std::copy_n(key(first), size_t{count} * packer_.words(), keys);
    *place += count;
    return count;
  }

 private:
  const KeyPacker& packer_;
  KeyTable table_;
  std::vector<uint64_t> keys_;
  std::vector<uint64_t> hashes_;
  std::vector<uint32_t> numbers_;
};

// Pairs of which the words decide, and are few: numbers of at most 64 bits, dates, truth values.
class WordPairs {
 public:
  WordPairs(const KeyPacker& packer, const QueryLimits& limits)
      : packer_(packer),
        set_(packer.words(), limits),
        keys_(size_t{kVectorRows} * packer.words()) {}

  static bool hold(const KeyPacker& packer) {
    return packer.words_decide() && packer.words() <= WordSet::kWordsMax;
  }

  uint32_t size() const { return set_.size(); }
  size_t memory_bytes() const { return set_.memory_bytes(); }

  void add(std::span<const Vector> columns, const Selection& rows, StringLife /*no texts*/) {
    packer_.pack(columns, rows, keys_.data(), nullptr);
    set_.add(keys_.data(), rows.count);
  }
  void expect(uint32_t pairs) { set_.expect(pairs); }
  void add_new(std::span<const Vector> columns, const Selection& rows) {
    add(columns, rows, StringLife::kQuery);
  }

  void make_dense() { set_.make_dense(); }
  const uint64_t* key(uint32_t pair) const { return set_.key(pair); }
  uint32_t read(uint64_t* place, uint64_t* keys) const { return set_.read(place, keys); }

 private:
  const KeyPacker& packer_;
  WordSet set_;
  std::vector<uint64_t> keys_;
};

template <class Pairs>
class DistinctColumn : public AggregateColumn {
 public:
  DistinctColumn(const KeyPacker& packer, PhysicalType argument,
                 std::unique_ptr<AggregateColumn> inner, const QueryLimits& limits)
      : inner_(std::move(inner)),
        packer_(packer),
        pairs_(packer_, limits),
        values_(argument),
        groups_(PhysicalType::kInt32),
        keys_(size_t{kVectorRows} * packer_.words()) {}

  void resize(uint32_t groups) override { inner_->resize(groups); }
  size_t memory_bytes() const override {
    return inner_->memory_bytes() + pairs_.memory_bytes() + pairs_split_.memory_bytes();
  }
  uint64_t kept_values() const override { return pairs_.size(); }
  bool counts_repeats() const override { return false; }

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
    const Vector columns[] = {argument, groups_.view()};
    pairs_.add(columns, present_, argument.string_life);
  }

  void split(const GroupSplit& groups, const StopSignal& stop) override {
    pairs_.make_dense();
    // The groups of a vector's worth of pairs at a time.
    VectorBuffer buffer(PhysicalType::kInt32);
    GrowingArray<uint8_t> partition_of;
    partition_of.resize(pairs_.size());
    for (uint32_t first = 0; first < pairs_.size(); first += kVectorRows) {
      stop.check();
      const uint32_t count = std::min(kVectorRows, pairs_.size() - first);
      const auto* const group =
          packer_.unpack(1, pairs_.key(first), 0, count, &buffer).template as<int32_t>();
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
    const bool all_new = pairs_.size() == 0;
    const auto add = [&](uint32_t count) {
      stop.check();
      const Vector value = packer_.unpack(0, keys_.data(), 0, count, &values_);
      const auto* const old =
          packer_.unpack(1, keys_.data(), 0, count, &old_groups_).template as<int32_t>();
      for (uint32_t i = 0; i < count; ++i) {
        groups_.values<int32_t>()[i] =
            static_cast<int32_t>(groups.to_of(static_cast<uint32_t>(old[i])));
      }
      select_all(count, &present_);
      const Vector columns[] = {value, groups_.view()};
      if (all_new) {
        pairs_.add_new(columns, present_);
      } else {
        pairs_.add(columns, present_, StringLife::kBatch);
      }
    };
    if (groups.split.is_whole()) {
      pairs_.expect(column.pairs_.size());
      uint64_t place = 0;
      while (const uint32_t count = column.pairs_.read(&place, keys_.data())) add(count);
      return;
    }
    const uint32_t pairs = column.pairs_split_.size(groups.partition);
    pairs_.expect(pairs);
    const uint32_t words = packer_.words();
    for (uint32_t first = 0; first < pairs; first += kVectorRows) {
      const uint32_t count = std::min(kVectorRows, pairs - first);
      for (uint32_t i = 0; i < count; ++i) {
        const uint32_t pair = column.pairs_split_.at(groups.partition, first + i);
        std::copy_n(column.pairs_.key(pair), words, &keys_[size_t{i} * words]);
      }
      add(count);
    }
  }

  void finish(const QueryLimits& limits) override {
    uint64_t place = 0;
    while (const uint32_t count = pairs_.read(&place, keys_.data())) {
      limits.stop->check();
      const Vector value = packer_.unpack(0, keys_.data(), 0, count, &values_);
      const Vector group = packer_.unpack(1, keys_.data(), 0, count, &groups_);
      uint32_t numbers[kVectorRows];
      std::copy_n(group.as<int32_t>(), count, numbers);
      select_all(count, &present_);
      inner_->update(value, present_, numbers);
    }
    inner_->finish(limits);
  }

  Vector result(uint32_t first, uint32_t count, VectorBuffer* results) const override {
    return inner_->result(first, count, results);
  }

 private:
  std::unique_ptr<AggregateColumn> inner_;
  const KeyPacker packer_;
  Pairs pairs_;
  NumbersByPartition pairs_split_;  // from split() on
  VectorBuffer values_;
  VectorBuffer groups_;
  VectorBuffer old_groups_{PhysicalType::kInt32};
  Selection present_;
  std::vector<uint64_t> keys_;
};

}  // namespace

std::unique_ptr<AggregateColumn> make_distinct(PhysicalType argument,
                                               std::unique_ptr<AggregateColumn> inner,
                                               const QueryLimits& limits) {
  const PhysicalType types[] = {argument, PhysicalType::kInt32};
  const KeyPacker packer(types, NullKeys::kNever);
  if (WordPairs::hold(packer)) {
    return std::make_unique<DistinctColumn<WordPairs>>(packer, argument, std::move(inner), limits);
  }
  return std::make_unique<DistinctColumn<TablePairs>>(packer, argument, std::move(inner), limits);
}

}  // namespace diptych::olap
