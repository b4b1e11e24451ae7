#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>

#include "base/check.h"
#include "oltp/bw_tree.h"
#include "oltp/index.h"
#include "oltp/ordered_build.h"

namespace diptych::oltp {
namespace {

constexpr size_t kGroupAtFirst = 16;  // many scans want few rows

// OrderedIndex: a BwTree of the width that the index's longest key needs.
template <size_t kWords>
class OrderedIndex final : public Index {
 public:
  OrderedIndex(Concurrency concurrency, base::MemoryPlace place)
      : place_(place), concurrency_(concurrency), tree_(concurrency, place) {}

  IndexInsert insert(std::string_view key, base::RowId row_id,
                     const UniquenessCheck* check) override {
    DIPTYCH_CHECK(key.size() <= kWidth, "the index was made for its longest key");
    return tree_.insert(entry_of(key, row_id.value), check);
  }
  bool erase(std::string_view key, base::RowId row_id) override {
    return key.size() <= kWidth && tree_.erase(entry_of(key, row_id.value));
  }
  void find(std::string_view key, const CandidateVisitor& visit) const override {
    if (key.size() <= kWidth) tree_.find(entry_of(key, 0).words, visit);
  }

  void next_group(IndexCursor* cursor) const override {
    const bool forward = cursor->direction == Direction::kForward;
    Entry lower = entry_of(cursor->lower, forward ? cursor->begin_row : 0);
    Entry upper = cursor->upper.empty() ? Entry::infinity()
                                        : entry_of(cursor->upper, forward ? 0 : cursor->begin_row);
    size_t group = std::min<uint64_t>(kGroupAtFirst, cursor->wanted);
    if (cursor->started) {
      if (cursor->count == 0) return;
      group = IndexCursor::kGroupMax;
      (forward ? lower : upper) = last_of(*cursor);
      if (forward) ++lower.row;
    }
    cursor->started = true;
    cursor->count = 0;
    if (cursor->finished) return;
    cursor->key_stride = kWidth;
    const Entry* last = nullptr;
    const auto take = [&](const Entry& entry) {
      last = &entry;
      if (cursor->keys_copied == CursorKeys::kAll) {
        put_key(entry, cursor->keys + cursor->count * kWidth);
      }
      cursor->rows[cursor->count++] = base::RowId(entry.row);
      return cursor->count < group;
    };
    cursor->finished =
        forward ? tree_.scan_forward(lower, upper, take) : tree_.scan_backward(lower, upper, take);
    if (last != nullptr) put_key(*last, cursor->last_key);
  }

  const void* prefetch_end_node(std::string_view prefix) const override {
    return prefix.size() <= kWidth ? tree_.prefetch_near(entry_of(prefix, 0)) : nullptr;
  }
  void prefetch_end(const void* node) const override { tree_.prefetch_newest(node); }

  void prefetch_ranges(std::span<const std::string_view> keys, size_t count) const override {
    std::array<Entry, kPrefetchMax> starts;
    const size_t ranges = std::min(keys.size(), kPrefetchMax);
    for (size_t i = 0; i < ranges; ++i) starts[i] = entry_of(keys[i], 0);
    if (ranges != 0) tree_.prefetch_ranges(std::span(starts).first(ranges), count);
  }

  void find_each(std::span<const std::string_view> keys,
                 std::span<base::RowId> found) const override {
    std::array<std::array<uint64_t, kWords>, kPrefetchMax> wanted;
    std::array<uint64_t, kPrefetchMax> rows;
    for (size_t i = 0; i < keys.size(); ++i) wanted[i] = entry_of(keys[i], 0).words;
    tree_.find_each(std::span(wanted).first(keys.size()), std::span(rows).first(keys.size()));
    static_assert(Tree::kNoRow == kNoRow.value);
    for (size_t i = 0; i < keys.size(); ++i) {
      found[i] = keys[i].size() <= kWidth ? base::RowId(rows[i]) : kNoRow;
    }
  }

  std::unique_ptr<IndexBuild> begin_build(uint64_t entries_max, uint32_t lanes) override {
    return std::make_unique<OrderedBuild<OrderedIndex>>(this, entries_max, lanes, place_.node);
  }
  void set_concurrency(Concurrency concurrency) override {
    concurrency_ = concurrency;
    tree_.set_concurrency(concurrency);
  }
  void reclaim() override { tree_.reclaim(); }
  uint64_t entry_count() const override { return tree_.entry_count(); }
  uint64_t check() const override { return tree_.check(); }
  size_t memory_bytes() const override { return tree_.allocated_bytes(); }

 private:
  static constexpr size_t kWidth = kWords * sizeof(uint64_t);
  // At least some entries lie in a node, be they ever so wide.
  using Tree = BwTree<kWords, std::max<size_t>(2048, 24 * sizeof(BwEntry<kWords>))>;
  using Entry = typename Tree::Entry;

  static Entry entry_of(std::string_view key, uint64_t row) {
    Entry entry;
    entry.words.fill(0);
    key.copy(reinterpret_cast<char*>(entry.words.data()), kWidth);
    for (uint64_t& word : entry.words) word = __builtin_bswap64(word);
    entry.row = row;
    return entry;
  }
  static void put_key(const Entry& entry, std::byte* key) {
    auto words = entry.words;
    for (uint64_t& word : words) word = __builtin_bswap64(word);
    std::memcpy(key, words.data(), kWidth);
  }
  static Entry last_of(const IndexCursor& cursor) {
    return entry_of({reinterpret_cast<const char*>(cursor.last_key), kWidth},
                    cursor.rows[cursor.count - 1].value);
  }

  friend class OrderedBuild<OrderedIndex>;
  base::MemoryPlace place_;
  Concurrency concurrency_;
  Tree tree_;
};

}  // namespace

std::unique_ptr<Index> make_ordered_index(size_t key_bytes_max, Concurrency concurrency,
                                          base::MemoryPlace place) {
  DIPTYCH_CHECK(key_bytes_max <= base::kKeyBytesMax, "no key is longer");
  if (key_bytes_max <= 8) return std::make_unique<OrderedIndex<1>>(concurrency, place);
  if (key_bytes_max <= 16) return std::make_unique<OrderedIndex<2>>(concurrency, place);
  if (key_bytes_max <= 24) return std::make_unique<OrderedIndex<3>>(concurrency, place);
  if (key_bytes_max <= 32) return std::make_unique<OrderedIndex<4>>(concurrency, place);
  if (key_bytes_max <= 48) return std::make_unique<OrderedIndex<6>>(concurrency, place);
  if (key_bytes_max <= 64) return std::make_unique<OrderedIndex<8>>(concurrency, place);
  if (key_bytes_max <= 96) return std::make_unique<OrderedIndex<12>>(concurrency, place);
  // Of one text of up to 55, 71, 87 and 103 bytes.
  if (key_bytes_max <= 112) return std::make_unique<OrderedIndex<14>>(concurrency, place);
  if (key_bytes_max <= 144) return std::make_unique<OrderedIndex<18>>(concurrency, place);
  if (key_bytes_max <= 176) return std::make_unique<OrderedIndex<22>>(concurrency, place);
  if (key_bytes_max <= 208) return std::make_unique<OrderedIndex<26>>(concurrency, place);
  return std::make_unique<OrderedIndex<base::kKeyBytesMax / 8>>(concurrency, place);
}

}  // namespace diptych::oltp
