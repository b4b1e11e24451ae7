// The end of a transaction: commit and rollback of a worker's write set.

#include <bit>
#include <utility>

#include "base/check.h"
#include "oltp/worker.h"

namespace diptych::oltp {
namespace {

bool writes_nothing(const Write& write, std::span<const uint64_t> columns) {
  if (write.kind == WriteKind::kInsertErased) return true;
  if (write.kind != WriteKind::kUpdate) return false;
  for (const uint64_t word : columns) {
    if (word != 0) return false;
  }
  return true;
}

// The set bits as column ids.
void list_columns(std::span<const uint64_t> words, std::vector<base::ColumnId>* columns) {
  columns->clear();
  for (size_t i = 0; i < words.size(); ++i) {
    for (uint64_t word = words[i]; word != 0; word &= word - 1) {
      const size_t column = 64 * i + static_cast<size_t>(std::countr_zero(word));
      columns->push_back(base::ColumnId(static_cast<uint16_t>(column)));
    }
  }
}

}  // namespace

void Worker::commit(Transaction* txn, Request* request) {
  bool any = false;
  for (Write& write : writes_) {
    const std::span words(column_words_.data() + write.columns, write.table->column_words);
    if (writes_nothing(write, words)) {
      // release: readers that meet the older version in its place see it whole. A row that only
      // this transaction knew is gone; others saw it as owned, and still do.
      write.slot->store(write.previous, std::memory_order_release);
    } else {
      any = true;
    }
  }
  uint64_t vid = 0;
  if (any) {
    // With one worker nobody else commits, and nothing is locked.
    std::unique_lock guard(core_->commit_mutex, std::defer_lock);
    if (core_->concurrency == Concurrency::kShared) guard.lock();
    // relaxed: written only under commit_mutex, or by this thread (C1).
    vid = core_->last_vid.load(std::memory_order_relaxed) + 1;
    for (Write& write : writes_) {
      // release: whoever sees the VID may read the row (V1).
      write.version->begin.store(vid, std::memory_order_release);
    }
    // release: pairs with the acquire at a transaction's begin; it sees all stamps above (C1).
    core_->last_vid.store(vid, std::memory_order_release);
  }
  request->commit_vid = base::Vid(vid);
  DIPTYCH_DCHECK(vid == 0 || vid > txn->read_vid().value, "a commit follows its snapshot");
  static_cast<void>(txn);
  for (Write& write : writes_) settle(write, base::Vid(vid));
  for (KeyChange& change : key_changes_) stale_keys_.push_back(std::move(change));
  clear_run();
}

void Worker::settle(const Write& write, base::Vid vid) {
  const std::span words(column_words_.data() + write.columns, write.table->column_words);
  TableState& state = tables_[write.table->schema->id.value];
  const bool exported = core_->options.export_updates;
  const base::RowLayout& layout = write.table->layout;
  switch (write.kind) {
    case WriteKind::kUpdate: {
      if (writes_nothing(write, words)) {
        memory_.retire(write.version);
        return;
      }
      memory_.retire(write.previous);
      if (!exported) return;
      list_columns(words, &columns_);
      updates_of(*write.table)
          .append_update(vid, write.row_id, layout, write.version->row(), columns_);
      return;
    }
    case WriteKind::kInsert:
      ++state.row_count_change;
      if (!exported) return;
      updates_of(*write.table).append_insert(vid, write.row_id, layout, write.version->row());
      return;
    case WriteKind::kErase:
      --state.row_count_change;
      memory_.retire(write.previous);
      dead_rows_.push_back({write.table, write.slot, write.row_id, write.version});
      if (!exported) return;
      updates_of(*write.table).append_delete(vid, write.row_id);
      return;
    case WriteKind::kInsertErased:
      dead_rows_.push_back({write.table, write.slot, write.row_id, write.version});
      return;
  }
}

void Worker::roll_back() {
  for (const KeyChange& change : key_changes_) {
    if (change.inserted) change.index->index->erase(change.key, change.row_id);
  }
  for (const Write& write : writes_) {
    // release: as in commit, for who meets the older version in its place.
    write.slot->store(write.previous, std::memory_order_release);
    if (write.previous == nullptr) {
      erase_inserted_entries(write, write.table->indexes.size());
      dead_rows_.push_back({write.table, write.slot, write.row_id, nullptr});
    }
    memory_.retire(write.version);
  }
  clear_run();
}

void Worker::clear_run() {
  writes_.clear();
  column_words_.clear();
  key_changes_.clear();
}

}  // namespace diptych::oltp
