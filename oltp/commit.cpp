// The end of a transaction: commit and rollback of a worker's write set.

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "oltp/worker.h"

namespace diptych::oltp {
namespace {

// About 2 us of looks: stamping takes a tenth of that, a sleep and a wake several times as long.
constexpr int kLooksMax = 64;

void lock(std::unique_lock<std::mutex>* guard) {
  for (int i = 0; i < kLooksMax; ++i) {
    if (guard->try_lock()) return;
    __builtin_ia32_pause();
  }
  guard->lock();  // its owner may not be running
}

bool writes_nothing(const Write& write) {
  if (write.kind == WriteKind::kInsertErased) return true;
  return write.kind == WriteKind::kUpdate && write.shape == nullptr;
}

}  // namespace

bool Worker::changes_anything() const {
  return std::any_of(writes_.begin(), writes_.end(),
                     [](const Write& write) { return !writes_nothing(write); });
}

inline void Worker::publish(const Write& write, base::Vid vid) {
  const auto state = [&]() -> WorkerTables::State& { return tables_[*write.table]; };
  uint64_t word = live_word(vid);
  switch (write.kind) {
    case WriteKind::kUpdate:
      if (!writes_nothing(write)) break;
      // release: the row's bytes are as they were.
      write.slot->group(write.undo->group)
          .word.store(write.undo->replaced, std::memory_order_release);
      return;
    case WriteKind::kInsert:
      ++state().row_count_change;
      for (uint32_t group = 1; group < write.table->layout.group_count; ++group) {
        stamp(write, group, word);
      }
      break;
    case WriteKind::kErase:
      --state().row_count_change;
      dead_.add_row(write.table, write.slot, write.row_id, true);
      word = erased_word(vid);
      break;
    case WriteKind::kErasedGroup: word = erased_word(vid); break;
    case WriteKind::kInsertErased: return kill_inserted(write);
  }
  stamp(write, write.undo->group, word);
}

bool Worker::commit(Transaction* txn, Request* request) {
  uint64_t looked_at = 0;
  if (reads_.is_recorded()) {
    // acquire: pairs with the release below; the look meets all that is stamped up to it (C1).
    looked_at = core_->last_vid.load(std::memory_order_acquire);
    if (changes_anything() && !reads_.still_hold(txn->read_vid())) return false;
  }
  // A snapshot that is replayed may be older than this worker's newest commit.
  // relaxed: whoever replays is alone.
  const uint64_t before =
      replays_ ? core_->last_vid.load(std::memory_order_relaxed) : txn->read_vid().value;
  // It commits at that VID or later, and no transaction of this worker before it did: so no record
  // of theirs gets its rows (propagation/export/update_set.h).
  const bool any = export_writes(before + 1);
  uint64_t vid = 0;
  // With one worker nobody else commits, and nothing is locked.
  std::unique_lock guard(core_->commit_mutex, std::defer_lock);
  if (any) {
    if (!is_single()) lock(&guard);
    // relaxed: written only under commit_mutex, or by this thread (C1).
    vid = core_->last_vid.load(std::memory_order_relaxed) + 1;
    // Nobody commits from here on; whoever did since the first look is looked at now.
    if (reads_.is_recorded() && vid != looked_at + 1 && !reads_.still_hold(txn->read_vid())) {
      take_back_exports();
      return false;
    }
  }
  for (const Write& write : writes_) publish(write, base::Vid(vid));
  // release: pairs with the acquire at a transaction's begin; it sees all stamps above (C1).
  if (any) core_->last_vid.store(vid, std::memory_order_release);
  if (guard.owns_lock()) guard.unlock();
  request->commit_vid = base::Vid(vid);
  DIPTYCH_DCHECK(vid == 0 || vid > txn->read_vid().value, "a commit follows its snapshot");
  for (propagation::UpdateRecord* const record : records_) record->vid = base::Vid(vid);
  for (const StringChange& change : string_changes_) strings_.retire(change.before);
  for (KeyChange& change : key_changes_) dead_.add_key(std::move(change));
  clear_run();
  return true;
}

[[gnu::always_inline]] inline propagation::UpdateRecord* Worker::export_write(const Write& write,
                                                                              base::Vid vid) {
  const base::RowLayout& layout = write.table->layout;
  switch (write.kind) {
    case WriteKind::kUpdate: {
      const WriteShape* const shape = shape_of_record(write);
      if (shape == nullptr) return nullptr;
      propagation::UpdateSet& updates = updates_of(*write.table);
      if (core_->options.export_mode == propagation::ExportMode::kRows) [[unlikely]] {
        return updates.append_replace(vid, write.row_id, layout, write.slot->row());
      }
      return updates.append_update(vid, write.row_id, layout, write.slot->row(), shape->writer);
    }
    case WriteKind::kInsert:
      return updates_of(*write.table).append_insert(vid, write.row_id, layout, write.slot->row());
    case WriteKind::kErase: return updates_of(*write.table).append_delete(vid, write.row_id);
    case WriteKind::kErasedGroup:
    case WriteKind::kInsertErased: break;
  }
  return nullptr;
}

bool Worker::export_writes(uint64_t vid) {
  if (!core_->options.export_updates) return changes_anything();
  const bool single = is_single();
  bool any = false;
  for (Write& write : writes_) {
    propagation::UpdateRecord* const record = export_write(write, base::Vid(vid));
    if (record == nullptr) continue;
    any = true;
    if (single) continue;  // the VID is final
    write.has_record = true;
    records_.push_back(record);
  }
  return any;
}

const WriteShape* Worker::shape_of_groups(const Write& write) {
  const WriteShape* all = nullptr;
  for (uint32_t group = 0; group < write.table->layout.group_count; ++group) {
    const Write* const part = write_of(*write.slot, group);
    if (part == nullptr || part->shape == nullptr) continue;
    if (part < &write) return nullptr;
    all = all == nullptr ? part->shape : &shapes_.joined(*all, *part->shape);
  }
  return all;
}

void Worker::take_back_exports() {
  // Each record is its set's newest in turn.
  for (auto write = writes_.rbegin(); write != writes_.rend(); ++write) {
    if (!write->has_record) continue;
    updates_of(*write->table).take_back(records_.back());
    records_.pop_back();
  }
}

void Worker::kill_inserted(const Write& write) {
  write.slot->set_words(write.table->layout.group_count, 0);
  dead_.add_row(write.table, write.slot, write.row_id, false);
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
    kill_inserted(write);
    if (write.kind == WriteKind::kInsertErased) continue;  // has none any more
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
  empty_ranges_.clear();
  key_changes_.clear();
  string_changes_.clear();
  records_.clear();
  if (is_single()) undo_.reset();
}

}  // namespace diptych::oltp
