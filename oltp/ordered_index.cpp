#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include "base/check.h"
#include "oltp/index.h"
#include "oltp/ordered_tree.h"

namespace diptych::oltp {
namespace {

constexpr size_t kGroupAtFirst = 8;  // many scans want one or two rows

// OrderedIndex: an OrderedTree of the width that the index's longest key needs, under one shared
// lock (none with one worker). Replaced by the Bw-tree of issue 3.
template <size_t kWords>
class OrderedIndex final : public Index {
 public:
  OrderedIndex(Concurrency concurrency, base::NumaNode node)
      : concurrency_(concurrency), tree_(node) {}

  IndexInsert insert(std::string_view key, base::RowId row_id,
                     const UniquenessCheck* check) override {
    DIPTYCH_CHECK(key.size() <= kWidth, "the index was made for its longest key");
    const std::unique_lock guard = lock<std::unique_lock<std::shared_mutex>>();
    if (check != nullptr) {
      const Entry first = entry_of(key, 0);
      for (auto at = tree_.lower_bound(first); at.valid() && (*at).words == first.words;
           at.advance()) {
        if ((*at).row == row_id.value) continue;
        const KeyVerdict verdict = (*check)(base::RowId((*at).row));
        if (verdict == KeyVerdict::kTaken) return IndexInsert::kTaken;
        if (verdict == KeyVerdict::kConflict) return IndexInsert::kConflict;
      }
    }
    return tree_.insert(entry_of(key, row_id.value)) ? IndexInsert::kInserted
                                                     : IndexInsert::kPresent;
  }

  bool erase(std::string_view key, base::RowId row_id) override {
    if (key.size() > kWidth) return false;
    const std::unique_lock guard = lock<std::unique_lock<std::shared_mutex>>();
    return tree_.erase(entry_of(key, row_id.value));
  }

  void find(std::string_view key, const CandidateVisitor& visit) const override {
    if (key.size() > kWidth) return;
    const Entry first = entry_of(key, 0);
    const std::shared_lock guard = lock<std::shared_lock<std::shared_mutex>>();
    for (auto at = tree_.lower_bound(first); at.valid() && (*at).words == first.words;
         at.advance()) {
      if (!visit(base::RowId((*at).row))) return;
    }
  }

  void next_group(IndexCursor* cursor) const override {
    cursor->count = 0;
    if (cursor->finished) return;
    const std::shared_lock guard = lock<std::shared_lock<std::shared_mutex>>();
    if (cursor->forward) {
      fill_forward(cursor);
    } else {
      fill_backward(cursor);
    }
    cursor->started = true;
  }

  uint64_t entry_count() const override {
    const std::shared_lock guard = lock<std::shared_lock<std::shared_mutex>>();
    return tree_.size();
  }
  size_t memory_bytes() const override {
    const std::shared_lock guard = lock<std::shared_lock<std::shared_mutex>>();
    return tree_.allocated_bytes();
  }

 private:
  using Tree = OrderedTree<kWords>;
  using Entry = typename Tree::Entry;
  static constexpr size_t kWidth = kWords * sizeof(uint64_t);

  template <class Lock>
  Lock lock() const {
    Lock guard(mutex_, std::defer_lock);
    if (concurrency_ == Concurrency::kShared) guard.lock();
    return guard;
  }

  static Entry entry_of(std::string_view key, uint64_t row) {
    Entry entry;
    entry.words.fill(0);
    std::memcpy(entry.words.data(), key.data(), std::min(key.size(), kWidth));
    for (uint64_t& word : entry.words) word = __builtin_bswap64(word);
    entry.row = row;
    return entry;
  }
  static void take(const Entry& entry, IndexCursor* cursor) {
    auto words = entry.words;
    for (uint64_t& word : words) word = __builtin_bswap64(word);
    std::memcpy(cursor->keys + cursor->count * kWidth, words.data(), kWidth);
    cursor->rows[cursor->count++] = base::RowId(entry.row);
  }
  // The candidate that was given out last: the next group begins behind it.
  static Entry last_taken(const IndexCursor& cursor, size_t last) {
    return entry_of({reinterpret_cast<const char*>(cursor.keys) + last * kWidth, kWidth},
                    cursor.rows[last].value);
  }

  void fill_forward(IndexCursor* cursor) const {
    auto at = tree_.lower_bound(cursor->started ? last_taken(*cursor, cursor->position)
                                                : entry_of(cursor->lower, 0));
    if (cursor->started && at.valid() && *at == last_taken(*cursor, cursor->position)) at.advance();
    const bool bounded = !cursor->upper.empty();
    const Entry end = entry_of(cursor->upper, 0);
    const size_t group = cursor->started ? IndexCursor::kGroupMax : kGroupAtFirst;
    cursor->key_stride = kWidth;
    for (; cursor->count < group; at.advance()) {
      if (!at.valid() || (bounded && !(*at < end))) {
        cursor->finished = true;
        break;
      }
      take(*at, cursor);
    }
    cursor->position = cursor->count == 0 ? 0 : cursor->count - 1;
  }

  void fill_backward(IndexCursor* cursor) const {
    auto at = cursor->started         ? tree_.last_below(last_taken(*cursor, cursor->position))
              : cursor->upper.empty() ? tree_.last()
                                      : tree_.last_below(entry_of(cursor->upper, 0));
    const Entry end = entry_of(cursor->lower, 0);
    const size_t group = cursor->started ? IndexCursor::kGroupMax : kGroupAtFirst;
    cursor->key_stride = kWidth;
    for (; cursor->count < group; at.retreat()) {
      if (!at.valid() || *at < end) {
        cursor->finished = true;
        break;
      }
      take(*at, cursor);
    }
    cursor->position = cursor->count == 0 ? 0 : cursor->count - 1;
  }

  Concurrency concurrency_;
  mutable std::shared_mutex mutex_;
  Tree tree_;  // guarded by mutex_
};

}  // namespace

std::unique_ptr<Index> make_ordered_index(size_t key_bytes_max, Concurrency concurrency,
                                          base::NumaNode node) {
  DIPTYCH_CHECK(key_bytes_max <= base::kKeyBytesMax, "no key is longer");
  if (key_bytes_max <= 8) return std::make_unique<OrderedIndex<1>>(concurrency, node);
  if (key_bytes_max <= 16) return std::make_unique<OrderedIndex<2>>(concurrency, node);
  if (key_bytes_max <= 24) return std::make_unique<OrderedIndex<3>>(concurrency, node);
  if (key_bytes_max <= 48) return std::make_unique<OrderedIndex<6>>(concurrency, node);
  if (key_bytes_max <= 96) return std::make_unique<OrderedIndex<12>>(concurrency, node);
  return std::make_unique<OrderedIndex<base::kKeyBytesMax / 8>>(concurrency, node);
}

}  // namespace diptych::oltp
