// The versions of a row: the newest lies in the row's slot, older ones are what undo records make
// of it.
//
//   slot      0      8       16
//             | word | older | row (RowLayout), padded to 8
//
//   word      | 1 owned | 0 erased | 0 live    | 61 bits: the owner's Undo          |
//             | 0       | 1        | 0         | VID of the commit that erased it   |
//             | 0       | 0        | 1         | VID of the newest commit           |
//             all zero: dead, there is no row
//
//   Undo      before: the word that the owner found -> older: the Undo of the commit before it
//             images -> image -> image: the row's words as they were, the newest image first
//
// What a snapshot sees (Hekaton's rule, with the newest version in place): take the row's bytes;
// while their VID is newer than the snapshot, apply the images of the Undo that leads back, and
// take its `before`. A row that is owned leads back by its owner's Undo, one that is committed by
// `older`.
//
// With several workers a row changes under its readers. Row bytes are then read and written as
// 64-bit atomic words, and a reader looks at the word before and after:
//
// Invariants
//   V1  Before its owner changes a word of the row, an image of it is in the owner's Undo: a reader
//       that meets the new bytes (acquire) finds the image (release).
//   V2  A word of the same value means the same bytes, within a batch: commits have VIDs of their
//       own, and a row that was rolled back goes on naming the Undo whose images lead back. So a
//       reader that finds the same word after it has copied has copied one version, or one that the
//       images mend.
//   V3  Undo records and images stay until the batch boundary. `older` is set by each commit and is
//       read only of rows that were committed in this batch.
//   V4  At a boundary no row is owned, and none is erased: each slot has one version or is dead.
//   V5  An inserted row's bytes are read only once it is committed (its Undo's `before` is 0).
//
// With one worker nobody reads what another one is at: the newest version is the visible one, there
// is no copy and no second look, and undo records serve only the rollback.
//
// Threads    the owner writes; any worker reads. Transitions of the word: free -> owned by
//            compare-and-swap, owned -> committed by the owner; the leader, at boundaries.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/ids.h"

namespace diptych::oltp {

// Words of the row as they were. Immutable once it is in an Undo's list.
struct BeforeImage {
  const BeforeImage* next;  // older, of the same Undo
  uint32_t first_word;      // of the row
  uint32_t word_count;

  const uint64_t* words() const { return reinterpret_cast<const uint64_t*>(this + 1); }
  uint64_t* words() { return reinterpret_cast<uint64_t*>(this + 1); }
};

struct Undo {
  uint64_t replaced;                       // the word that was there; 0: an insert
  uint64_t before;                         // the same, settled: not owned
  const Undo* older;                       // of the row, when it was claimed
  std::atomic<const BeforeImage*> images;  // writer: the owner
  uint32_t write_index;                    // of the owner's write set, while owned
  base::WorkerId worker;
  std::atomic<bool> rolled_back;  // writer: the owner: the row's bytes are as before
  bool erased;                    // the owner's alone
};

inline constexpr uint64_t kOwned = uint64_t{1} << 63;
inline constexpr uint64_t kErased = uint64_t{1} << 62;
inline constexpr uint64_t kLive = uint64_t{1} << 61;
inline constexpr uint64_t kVidMask = kLive - 1;

inline uint64_t owned_word(const Undo* undo) {
  return kOwned | reinterpret_cast<uintptr_t>(undo);
}
inline Undo* undo_of(uint64_t word) {
  return reinterpret_cast<Undo*>(word & ~kOwned);
}
inline uint64_t live_word(base::Vid vid) {
  return kLive | vid.value;
}
inline uint64_t erased_word(base::Vid vid) {
  return kErased | vid.value;
}

struct RowSlot {
  std::atomic<uint64_t> word;      // writer: who claims or owns the row; leader at a boundary
  std::atomic<const Undo*> older;  // writer: who commits, before the word (V3)

  std::byte* row() { return reinterpret_cast<std::byte*>(this + 1); }
  const std::byte* row() const { return reinterpret_cast<const std::byte*>(this + 1); }
  // The row's bytes as the words that several workers share.
  std::atomic<uint64_t>* row_words() { return reinterpret_cast<std::atomic<uint64_t>*>(this + 1); }
  const std::atomic<uint64_t>* row_words() const {
    return reinterpret_cast<const std::atomic<uint64_t>*>(this + 1);
  }
};
static_assert(sizeof(RowSlot) == 16 && alignof(RowSlot) == 8);

// The 64-bit words that hold the bytes [offset, offset + bytes) of a row.
struct WordSpan {
  uint32_t first;
  uint32_t count;
};
inline WordSpan words_of(uint32_t offset, uint32_t bytes) {
  const uint32_t first = offset / 8;
  return {first, (offset + bytes + 7) / 8 - first};
}

}  // namespace diptych::oltp
