// ApplyWorkspace: what a PartitionApplier works with while it applies a slice of records; one
// partition of each table after the other uses the same, which so stays in the cache.
//
//   updates of a phase, in their order    0  1  2  3  4  5  6
//   BlockChains                           block 7: 0 ─► 3 ─► 4       block 2: 1 ─► 2 ─► 5 ─► 6
//
// Threads    one.
// Memory     some 50 bytes a record of the largest slice, and 8 a block of the largest partition.

#pragma once

#include <cstdint>
#include <vector>

#include "base/alignment.h"
#include "base/check.h"
#include "propagation/export/update_set.h"
#include "propagation/row_index.h"
#include "propagation/update_reader.h"
#include "storage/table.h"

namespace diptych::propagation {

// Updates by the block that their rows are in; those of one block in the order in which they came.
class BlockChains {
 public:
  struct Update {
    const UpdateRecord* record = nullptr;
    const UpdateReader* reader = nullptr;
    uint32_t ordinal = 0;  // of the first of `rows`, which lie one behind the other
    uint32_t rows = 0;
    uint32_t next = 0;  // of the same block
  };

  // Empty, for so many updates at least, of rows in blocks [0, blocks).
  void start(size_t updates, size_t blocks) {
    DIPTYCH_DCHECK(at_ == kNone && touched_ == taken_, "all that came was taken");
    if (updates_.size() < updates) updates_.resize(updates);
    if (chains_.size() < blocks) chains_.resize(blocks);
    if (blocks_.size() < updates) blocks_.resize(updates);
    count_ = touched_ = taken_ = 0;
  }
  size_t room() const { return updates_.size() - count_; }
  void add(const UpdateRecord* record, const UpdateReader* reader, uint32_t ordinal, uint32_t rows,
           uint32_t block) {
    DIPTYCH_DCHECK(count_ < updates_.size() && block < chains_.size(), "start() made room");
    updates_[count_] = {record, reader, ordinal, rows, kNone};
    Chain& chain = chains_[block];
    if (chain.first == kNone) {
      chain.first = count_;
      blocks_[touched_++] = block;
    } else {
      updates_[chain.last].next = count_;
    }
    chain.last = count_++;
  }
  // Once all have come: the next one, or the next so many of its rows; of no record: there is none.
  Update take(uint32_t rows_max) {
    if (at_ == kNone) {
      if (taken_ == touched_) return {};
      Chain& chain = chains_[blocks_[taken_++]];
      at_ = chain.first;
      chain.first = kNone;
    }
    Update& update = updates_[at_];
    Update taken = update;
    if (update.rows > rows_max) {
      taken.rows = rows_max;
      update.ordinal += rows_max;
      update.rows -= rows_max;
    } else {
      at_ = update.next;
    }
    return taken;
  }
  size_t memory_bytes() const {
    return updates_.capacity() * sizeof(Update) + chains_.capacity() * sizeof(Chain) +
           blocks_.capacity() * sizeof(uint32_t);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Chain {
    uint32_t first = kNone;
    uint32_t last = kNone;
  };

  std::vector<Update> updates_;
  std::vector<Chain> chains_;     // [block]; no update: first is kNone
  std::vector<uint32_t> blocks_;  // that have updates, in the order of their first ones
  uint32_t count_ = 0;
  uint32_t touched_ = 0;  // of blocks_
  uint32_t taken_ = 0;    // of these
  uint32_t at_ = kNone;   // the next of the block taken last
};

struct alignas(base::kLineBytes) ApplyWorkspace {
  std::vector<const UpdateRecord*> kept;        // of the slice, once updates are collapsed
  std::vector<const RowIndex::Entry*> entries;  // of the slice's records
  BlockChains updates;                          // of a phase
  std::vector<const UpdateRecord*> moves;       // its inserts and deletes
  std::vector<storage::NewRow> rows;            // that are inserted together

  size_t memory_bytes() const {
    return kept.capacity() * sizeof kept[0] + entries.capacity() * sizeof entries[0] +
           updates.memory_bytes() + moves.capacity() * sizeof moves[0] +
           rows.capacity() * sizeof rows[0];
  }
};

}  // namespace diptych::propagation
