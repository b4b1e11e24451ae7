// The end of a transaction: commit and rollback of a worker's write set.

#include <algorithm>
#include <bit>
#include <cstring>
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

// Appends the set bits as column ids.
void list_columns(std::span<const uint64_t> words, std::vector<base::ColumnId>* columns) {
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
  for (const Write& write : writes_) {
    const std::span words(column_words_.data() + write.columns, write.table->column_words);
    if (writes_nothing(write, words)) {
      if (write.kind == WriteKind::kInsertErased) {
        kill_inserted(write, true);
        continue;
      }
      // release: the row's bytes are as they were.
      write.slot->group(write.undo->group)
          .word.store(write.undo->replaced, std::memory_order_release);
    } else {
      any = true;
      if (core_->options.export_updates) export_write(write, txn->read_vid());
    }
  }
  uint64_t vid = 0;
  if (any) {
    // With one worker nobody else commits, and nothing is locked.
    std::unique_lock guard(core_->commit_mutex, std::defer_lock);
    if (!is_single()) guard.lock();
    // relaxed: written only under commit_mutex, or by this thread (C1).
    vid = core_->last_vid.load(std::memory_order_relaxed) + 1;
    for (const Write& write : writes_) publish(write, base::Vid(vid));
    // release: pairs with the acquire at a transaction's begin; it sees all stamps above (C1).
    core_->last_vid.store(vid, std::memory_order_release);
  }
  request->commit_vid = base::Vid(vid);
  DIPTYCH_DCHECK(vid == 0 || vid > txn->read_vid().value, "a commit follows its snapshot");
  for (propagation::UpdateRecord* const record : records_) record->vid = base::Vid(vid);
  for (const StringChange& change : string_changes_) strings_.retire(change.before);
  for (KeyChange& change : key_changes_) stale_keys_.push_back(std::move(change));
  clear_run();
}

void Worker::publish(const Write& write, base::Vid vid) {
  TableState& state = tables_[write.table->schema->id.value];
  uint64_t word = live_word(vid);
  switch (write.kind) {
    case WriteKind::kUpdate: {
      const std::span words(column_words_.data() + write.columns, write.table->column_words);
      if (writes_nothing(write, words)) return;  // it is nobody's by now
      break;
    }
    case WriteKind::kInsert:
      ++state.row_count_change;
      for (uint32_t group = 1; group < write.table->layout.group_count; ++group) {
        stamp(write, group, word);
      }
      break;
    case WriteKind::kErase:
      --state.row_count_change;
      dead_rows_.push_back({write.table, write.slot, write.row_id, true});
      word = erased_word(vid);
      break;
    case WriteKind::kErasedGroup: word = erased_word(vid); break;
    case WriteKind::kInsertErased: return;
  }
  stamp(write, write.undo->group, word);
}

void Worker::kill_inserted(const Write& write, bool has_entries) {
  write.slot->set_words(write.table->layout.group_count, 0);
  dead_rows_.push_back({write.table, write.slot, write.row_id, has_entries});
}

bool Worker::list_row_columns(const Write& write) {
  for (uint32_t group = 0; group < write.table->layout.group_count; ++group) {
    const Write* const part = write_of(*write.slot, group);
    if (part == nullptr) continue;
    const size_t listed = columns_.size();
    list_columns({column_words_.data() + part->columns, write.table->column_words}, &columns_);
    if (columns_.size() != listed && part < &write) return false;
  }
  std::sort(columns_.begin(), columns_.end());
  return true;
}

void Worker::export_write(const Write& write, base::Vid not_before) {
  propagation::UpdateSet& updates = updates_of(*write.table);
  const base::RowLayout& layout = write.table->layout;
  switch (write.kind) {
    case WriteKind::kUpdate:
      columns_.clear();
      if (layout.group_count == 1) {
        list_columns({column_words_.data() + write.columns, write.table->column_words}, &columns_);
      } else if (!list_row_columns(write)) {
        return;
      }
      records_.push_back(
          updates.append_update(not_before, write.row_id, layout, write.slot->row(), columns_));
      return;
    case WriteKind::kInsert:
      records_.push_back(
          updates.append_insert(not_before, write.row_id, layout, write.slot->row()));
      return;
    case WriteKind::kErase:
      records_.push_back(updates.append_delete(not_before, write.row_id));
      return;
    case WriteKind::kErasedGroup:
    case WriteKind::kInsertErased: return;
  }
}

void Worker::roll_back() {
  // While the rows are still owned: who claims one later may need the same entry.
  for (const KeyChange& change : key_changes_) {
    if (change.inserted) change.index->index->erase(change.key, change.row_id);
  }
  for (const Write& write : writes_) {
    if (write.undo->before != 0) {
      restore_row(write);
      continue;
    }
    kill_inserted(write, false);
    erase_inserted_entries(write, write.table->indexes.size());
  }
  for (const StringChange& change : string_changes_) strings_.retire(change.after);
  clear_run();
}

void Worker::restore_row(const Write& write) {
  if (!is_single()) {
    if (write.slot->roll_back(write.undo)) rolled_back_.push_back({write.slot, write.undo});
    return;
  }
  // relaxed: one worker, here and below.
  const BeforeImage* image = write.undo->images.load(std::memory_order_relaxed);
  for (; image != nullptr; image = image->next) {
    std::memcpy(write.slot->row() + size_t{8} * image->first_word, image->words(),
                size_t{8} * image->word_count);
  }
  // relaxed: as above.
  write.slot->group(write.undo->group).word.store(write.undo->replaced, std::memory_order_relaxed);
}

void Worker::clear_run() {
  writes_.clear();
  column_words_.clear();
  key_changes_.clear();
  string_changes_.clear();
  records_.clear();
  if (is_single()) undo_.reset();
}

}  // namespace diptych::oltp
