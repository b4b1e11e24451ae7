#include "oltp/dead_entries.h"

#include <atomic>
#include <new>
#include <string>

#include "base/key.h"
#include "oltp/hash_index.h"

namespace diptych::oltp {
namespace {

void erase_entries(const Table& table, const RowSlot& slot, base::RowId row_id) {
  for (const auto& index : table.indexes) {
    base::Key key;
    index->encoder.encode(slot.row(), &key);
    index->index->erase(key.bytes(), row_id);
  }
}

// The row has the key now, or another one whose entry is the same.
bool has_entry(const TableIndex& index, const RowSlot& slot, const std::string& key) {
  base::Key present;
  index.encoder.encode(slot.row(), &present);
  if (present.bytes() == key) return true;
  return index.by_hash != nullptr && HashIndex::share_entry(present.bytes(), key);
}

// False if somebody may still need the entry.
bool drop_unneeded_key(const KeyChange& change, base::Vid oldest_read, base::WorkerId worker,
                       base::Arena* undo_memory) {
  TableIndex& index = *change.index;
  RowSlot& slot = index.table->rows.slot(change.row_id);
  // acquire: pairs with the releases of claims and commits; the row's bytes are read.
  const uint64_t word = slot.word.load(std::memory_order_acquire);
  if (is_hidden(word, oldest_read)) return false;
  if ((word & kLive) == 0) {  // for the rest of the batch (R1)
    index.index->erase(change.key, change.row_id);
    return true;
  }
  // relaxed: it is older than the word.
  const Undo* const older = slot.older.load(std::memory_order_relaxed);
  auto* const undo = new (undo_memory->allocate(sizeof(Undo)))
      Undo{word, word, older, nullptr, 0, worker, 0, false, false};
  if (!slot.claim(undo)) return false;
  if (!has_entry(index, slot, change.key)) index.index->erase(change.key, change.row_id);
  // release: the row's bytes are as they were.
  slot.word.store(word, std::memory_order_release);
  return true;
}

}  // namespace

void DeadEntries::drop() {
  for (; rows_without_entries_ < rows_.size(); ++rows_without_entries_) {
    const Row& row = rows_[rows_without_entries_];
    if (row.has_entries) erase_entries(*row.table, *row.slot, row.row_id);
  }
  for (const KeyChange& change : keys_) {
    TableIndex& index = *change.index;
    const RowSlot& slot = index.table->rows.slot(change.row_id);
    // relaxed: nobody else changes a row meanwhile.
    const bool is_live = (slot.word.load(std::memory_order_relaxed) & kLive) != 0;
    if (is_live && has_entry(index, slot, change.key)) continue;
    index.index->erase(change.key, change.row_id);
  }
  keys_.clear();
  many_ = kManyMin;
}

void DeadEntries::drop_unneeded(base::Vid oldest_read, base::WorkerId worker, base::Arena* undo) {
  for (; rows_without_entries_ < rows_.size(); ++rows_without_entries_) {
    const Row& row = rows_[rows_without_entries_];
    // relaxed: this worker has erased the row, and nobody changes it before the boundary.
    if (is_hidden(row.slot->word.load(std::memory_order_relaxed), oldest_read)) break;
    if (row.has_entries) erase_entries(*row.table, *row.slot, row.row_id);
  }
  std::erase_if(keys_, [&](const KeyChange& change) {
    return drop_unneeded_key(change, oldest_read, worker, undo);
  });
  many_ = kManyMin + 2 * count();
}

}  // namespace diptych::oltp
