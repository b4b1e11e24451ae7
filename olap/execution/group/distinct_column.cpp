// Aggregates of distinct values: a set of (group, value) pairs, packed as keys of two columns. The
// aggregate itself sees each pair once, when it comes for the first time.
//
// Groups of workers have numbers of their own. Merging renumbers another's pairs and adds them; if
// they are many and words, the workers first list them by ranges of hashes, and then each adds a
// range.

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "olap/execution/group/aggregate_column.h"
#include "olap/execution/key/key_table.h"
#include "olap/execution/key/word_set.h"

namespace diptych::olap {

namespace {

constexpr const char* kPairsAre = "the groups of a GROUP BY";  // for messages
constexpr uint64_t kPairsAWorker = 16 * 1024;                  // at least

// Reads another column's pairs, with the numbers that their groups have in this one.
class Renumbering {
 public:
  Renumbering(const KeyPacker& packer, PhysicalType argument, const GroupMerge& groups)
      : packer_(packer), groups_(groups), values_(argument) {}

  // The columns of `count` pairs, and their selection.
  std::span<const Vector> columns_of(const uint64_t* keys, uint32_t count, Selection* all) {
    columns_[0] = packer_.unpack(0, keys, 0, count, &values_);
    columns_[0].string_life = StringLife::kBatch;  // the other column may go
    const auto* const old = packer_.unpack(1, keys, 0, count, &old_numbers_).as<int32_t>();
    auto* const numbers = numbers_.values<int32_t>();
    for (uint32_t i = 0; i < count; ++i) {
      numbers[i] = static_cast<int32_t>(groups_.to_of(static_cast<uint32_t>(old[i])));
    }
    columns_[1] = numbers_.view();
    select_all(count, all);
    return columns_;
  }

 private:
  const KeyPacker& packer_;
  const GroupMerge& groups_;
  VectorBuffer values_;
  VectorBuffer old_numbers_{PhysicalType::kInt32};
  VectorBuffer numbers_{PhysicalType::kInt32};
  Vector columns_[2];
};

// Pairs of any type.
class TablePairs {
 public:
  TablePairs(const KeyPacker& packer, const QueryLimits& limits)
      : packer_(packer),
        table_(packer, limits, kPairsAre),
        keys_(size_t{kVectorRows} * packer.words()),
        hashes_(kVectorRows),
        numbers_(kVectorRows) {}

  uint32_t size() const { return table_.size(); }
  size_t memory_bytes() const { return table_.memory_bytes(); }

  // Returns the number of new pairs, and sets added[i] to the place of the i-th of them among the
  // selected rows.
  uint32_t add(std::span<const Vector> columns, const Selection& rows, StringLife life,
               uint16_t* added) {
    packer_.pack(columns, rows, keys_.data(), hashes_.data());
    const uint32_t before = size();
    table_.find_or_insert(keys_.data(), hashes_.data(), rows.count, life, numbers_.data());
    uint32_t count = 0;
    for (uint32_t k = 0; k < rows.count; ++k) {
      if (numbers_[k] == before + count) added[count++] = static_cast<uint16_t>(k);
    }
    return count;
  }
  // Another's pairs will be added.
  void expect(uint32_t pairs) {
    if (size() == 0) table_.reserve(pairs);
  }
  // For a merge each pair counts as much as a group.
  uint64_t merge_values() const { return size(); }

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

  uint32_t add(std::span<const Vector> columns, const Selection& rows, StringLife /*no texts*/,
               uint16_t* added) {
    packer_.pack(columns, rows, keys_.data(), nullptr);
    return set_.add(keys_.data(), rows.count, added);
  }
  void expect(uint32_t pairs) { set_.expect(pairs); }
  // Workers share their merge, whether groups are split or not.
  uint64_t merge_values() const { return 0; }

  // Reads the pairs of one of `ranges` ranges of slots to `keys`; f(count) for a vector's worth.
  template <class F>
  void for_range(uint32_t range, uint32_t ranges, uint64_t* keys, const F& f) const {
    const RowRange places = range_of(set_.places(), range, ranges);
    uint64_t place = places.begin;
    while (const uint32_t count = set_.read(&place, places.end, keys)) f(count);
  }
  void add_lists(std::span<const WordSet::KeyLists> lists, const Workers& workers,
                 const WordSet::Added& added) {
    set_.add_lists(lists, static_cast<uint32_t>(lists.size()), workers, added);
  }

  void make_dense() { set_.make_dense(); }
  const uint64_t* key(uint32_t pair) const { return set_.key(pair); }
  uint32_t read(uint64_t* place, uint64_t* keys) const {
    return set_.read(place, set_.places(), keys);
  }

 private:
  const KeyPacker& packer_;
  WordSet set_;
  std::vector<uint64_t> keys_;
};

template <class Pairs>
class DistinctColumn : public AggregateColumn {
 public:
  DistinctColumn(const KeyPacker& packer, PhysicalType argument, InnerColumn make_inner,
                 const QueryLimits& limits)
      : limits_(limits),
        make_inner_(std::move(make_inner)),
        inner_(make_inner_()),
        packer_(packer),
        pairs_(packer_, limits),
        argument_(argument),
        groups_(PhysicalType::kInt32),
        keys_(size_t{kVectorRows} * packer_.words()) {}

  void resize(uint32_t groups) override {
    group_count_ = groups;
    inner_->resize(groups);
  }
  size_t memory_bytes() const override {
    return inner_->memory_bytes() + pairs_.memory_bytes() + pairs_split_.memory_bytes();
  }
  uint64_t kept_values() const override { return pairs_.merge_values(); }
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
    pass_on(columns);
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

  void merge(const AggregateColumn& other, const GroupMerge& groups) override {
    const auto& column = static_cast<const DistinctColumn&>(other);
    const bool whole = groups.split.is_whole();
    const uint32_t pairs =
        whole ? column.pairs_.size() : column.pairs_split_.size(groups.partition);
    if constexpr (std::is_same_v<Pairs, WordPairs>) {
      const uint32_t ranges =
          std::min(groups.workers.count_for(pairs, kPairsAWorker), WordSet::kParts);
      if (whole && ranges > 1) return merge_by_ranges(column, groups, ranges);
    }
    pairs_.expect(pairs);
    Renumbering renumbering(packer_, argument_, groups);
    const auto add = [&](uint32_t count) {
      groups.workers.stop().check();
      pass_on(renumbering.columns_of(keys_.data(), count, &present_));
    };
    if (whole) {
      uint64_t place = 0;
      while (const uint32_t count = column.pairs_.read(&place, keys_.data())) add(count);
      return;
    }
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

  void finish(const QueryLimits& limits, const Workers& workers) override {
    inner_->finish(limits, workers);
  }

  Vector result(uint32_t first, uint32_t count, VectorBuffer* results) const override {
    return inner_->result(first, count, results);
  }

 private:
  // Adds the pairs of present_, and passes new ones on.
  void pass_on(std::span<const Vector> columns) {
    uint16_t added[kVectorRows];
    const uint32_t count = pairs_.add(columns, present_, columns[0].string_life, added);
    if (count == 0) return;
    uint64_t bits[kVectorWords] = {};
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t slot = present_.row(added[i]);
      set_bit(bits, slot);
      new_groups_[i] = static_cast<uint32_t>(columns[1].as<int32_t>()[slot]);
    }
    select_bits(bits, present_.slots, &new_);
    inner_->update(columns[0], new_, new_groups_);
  }

  // The workers list the other's pairs by ranges of hashes, and then each adds a range.
  void merge_by_ranges(const DistinctColumn& other, const GroupMerge& groups, uint32_t ranges) {
    std::vector<WordSet::KeyLists> lists;
    for (uint32_t i = 0; i < ranges; ++i) lists.emplace_back(packer_.words(), ranges);
    MemoryCharge charge(limits_.memory, kPairsAre);
    charge.set(size_t{other.pairs_.size()} * packer_.words() * sizeof(uint64_t) +
               inner_->memory_bytes() * ranges);
    groups.workers.run(ranges, [&](uint32_t i) {
      Renumbering renumbering(packer_, argument_, groups);
      std::vector<uint64_t> keys(size_t{kVectorRows} * packer_.words());
      Selection all;
      other.pairs_.for_range(i, ranges, keys.data(), [&](uint32_t count) {
        limits_.stop->check();
        const auto columns = renumbering.columns_of(keys.data(), count, &all);
        packer_.pack(columns, all, keys.data(), nullptr);
        lists[i].add(keys.data(), count);
      });
    });
    std::vector<RangeColumn> of_ranges(ranges);
    for (RangeColumn& range : of_ranges) {
      range.inner = make_inner_();
      range.inner->resize(group_count_);
      range.keys.resize(size_t{kVectorRows} * packer_.words());
      range.values = std::make_unique<VectorBuffer>(argument_);
    }
    pairs_.add_lists(lists, groups.workers,
                     [&](uint32_t range, const uint64_t* keys, const uint16_t* added,
                         uint32_t count) { pass_on_range(keys, added, count, &of_ranges[range]); });
    std::vector<uint32_t> same(group_count_);
    std::iota(same.begin(), same.end(), 0);
    const GroupSplit whole(group_count_);
    for (const RangeColumn& range : of_ranges) {
      inner_->merge(*range.inner, {whole, 0, same.data(), groups.workers});
    }
  }

  // What sees the new pairs of a range of hashes.
  struct RangeColumn {
    std::unique_ptr<AggregateColumn> inner;
    std::vector<uint64_t> keys;
    std::unique_ptr<VectorBuffer> values;
    VectorBuffer groups{PhysicalType::kInt32};
    Selection all;
  };

  void pass_on_range(const uint64_t* keys, const uint16_t* added, uint32_t count,
                     RangeColumn* range) const {
    const uint32_t words = packer_.words();
    for (uint32_t i = 0; i < count; ++i) {
      std::copy_n(keys + size_t{added[i]} * words, words, &range->keys[size_t{i} * words]);
    }
    const Vector value = packer_.unpack(0, range->keys.data(), 0, count, range->values.get());
    const Vector group = packer_.unpack(1, range->keys.data(), 0, count, &range->groups);
    uint32_t numbers[kVectorRows];
    std::copy_n(group.as<int32_t>(), count, numbers);
    select_all(count, &range->all);
    range->inner->update(value, range->all, numbers);
  }

  const QueryLimits limits_;
  const InnerColumn make_inner_;
  uint32_t group_count_ = 0;
  std::unique_ptr<AggregateColumn> inner_;
  const KeyPacker packer_;
  Pairs pairs_;
  NumbersByPartition pairs_split_;  // from split() on
  const PhysicalType argument_;
  VectorBuffer groups_;
  Selection present_;
  Selection new_;  // of them, with new pairs
  uint32_t new_groups_[kVectorRows];
  std::vector<uint64_t> keys_;
};

}  // namespace

std::unique_ptr<AggregateColumn> make_distinct(PhysicalType argument, InnerColumn make_inner,
                                               const QueryLimits& limits) {
  const PhysicalType types[] = {argument, PhysicalType::kInt32};
  const KeyPacker packer(types, NullKeys::kNever);
  if (WordPairs::hold(packer)) {
    return std::make_unique<DistinctColumn<WordPairs>>(packer, argument, std::move(make_inner),
                                                       limits);
  }
  return std::make_unique<DistinctColumn<TablePairs>>(packer, argument, std::move(make_inner),
                                                      limits);
}

}  // namespace diptych::olap
