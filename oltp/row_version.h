// The versions of a row: the newest lies in the row's slot, and undo records restore older ones.
//
//   slot      -16 g                  0      8       16
//             | word | older |  ...  | word | older | row (RowLayout), padded to 8
//             | group g              | group 0      |
//
//   word      | 1 owned | 0 erased | 0 live    | 61 bits: the owner's Undo          |
//             | 0       | 1        | 0         | VID of the commit that erased it   |
//             | 0       | 0        | 1         | VID of the newest commit           |
//             all zero: dead, there is no row
//
//   Undo      before: the word that the owner found -> older: the Undo of the commit before it
//             images -> image -> image: the row's words as they were, the newest image first
//
// A snapshot sees (Hekaton's rule, with the newest version in place) the row's bytes. While their
// VID is newer than the snapshot, the reader applies the images of the Undo that leads back, and
// takes its `before`. An owned row leads back by its owner's Undo, a committed row by `older`.
//
// Columns may be in groups (TableSchema::column_groups), so that writers of different groups do not
// conflict. Each group has its own versions: a word, `older`, and Undos whose images have only
// words of its columns. Below, "row" means "group of the row". Tables without groups have only
// group 0.
//
// With several workers a row may change while it is read. Row bytes are then read and written as
// 64-bit atomic words, and a reader checks the word before and after:
//
// Invariants
//   V1  Before the owner changes a word of the row, its Undo has an image of the word: a reader
//       that meets the new bytes (acquire) finds the image (release).
//   V2  Within a batch, a word of the same value means the same bytes: each commit has its own VID,
//       and a row that was rolled back keeps naming the Undo whose images lead back. So a reader
//       that finds the same word after its copy has copied one version, or one that the images
//       repair.
//   V3  Undo records and images stay until the batch boundary. Each commit sets `older`, which is
//       followed only from rows that were committed in this batch.
//   V4  At a boundary no row is owned, and none is erased: each slot has one version or is dead.
//   V5  An inserted row's bytes are read only once it is committed (its Undo's `before` is 0).
//   V6  Group 0's word alone says whether the row exists. A transaction that inserts or erases a
//       row owns the words of all its groups, and stamps them all. So a claim of one group finds an
//       erase at that group's word and need not look at another, and a snapshot that sees the row
//       by group 0 sees a version of each group.
//   V7  A word of the row has bytes of one group only (base::check_column_groups).
//
// With one worker nobody reads a row that another worker is changing: the newest version is the
// visible one, there is no copy and no second check, and undo records serve only rollbacks.
//
// Threads    the owner writes; any worker reads. Transitions of the word: free -> owned by
//            compare-and-swap, owned -> committed by the owner; the leader, at boundaries.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/ids.h"

namespace diptych::oltp {

// Former values of words of the row. Immutable once it is in an Undo's list.
struct BeforeImage {
  const BeforeImage* next;  // older, of the same Undo
  uint32_t first_word;      // of the row
  uint32_t word_count;

  const uint64_t* words() const { return reinterpret_cast<const uint64_t*>(this + 1); }
  uint64_t* words() { return reinterpret_cast<uint64_t*>(this + 1); }
};

// The 64-bit words that hold the bytes [offset, offset + bytes) of a row.
struct WordSpan {
  uint32_t first;
  uint32_t count;
};
inline WordSpan words_of(uint32_t offset, uint32_t bytes) {
  const uint32_t first = offset / 8;
  return {first, (offset + bytes + 7) / 8 - first};
}

template <template <class> class Atomic>
struct BasicUndo {
  uint64_t replaced;                  // the word that was there; 0: an insert
  uint64_t before;                    // the same, without an owner that rolled back
  const BasicUndo* older;             // of the row, when it was claimed
  Atomic<const BeforeImage*> images;  // writer: the owner
  uint32_t write_index;               // of the owner's write set, while owned
  base::WorkerId worker;
  uint8_t group;             // whose word names it; of an inserted row all words do
  Atomic<bool> rolled_back;  // writer: the owner: the row's bytes are as before
  bool erased;               // the owner's alone
};

inline constexpr uint64_t kOwned = uint64_t{1} << 63;
inline constexpr uint64_t kErased = uint64_t{1} << 62;
inline constexpr uint64_t kLive = uint64_t{1} << 61;
inline constexpr uint64_t kVidMask = kLive - 1;

inline uint64_t live_word(base::Vid vid) {
  return kLive | vid.value;
}
inline uint64_t erased_word(base::Vid vid) {
  return kErased | vid.value;
}
// True if the snapshot does not see the version of the word.
inline bool is_hidden(uint64_t word, base::Vid read_vid) {
  return (word & kOwned) != 0 || (word & kVidMask) > read_vid.value;
}

// Of one group of a row.
template <template <class> class Atomic>
struct BasicRowVersion {
  Atomic<uint64_t> word;  // writer: who claims or owns the row; leader at a boundary
  Atomic<const BasicUndo<Atomic>*> older;  // writer: who commits, before the word (V3)

  static uint64_t owned_word(const BasicUndo<Atomic>* undo) {
    return kOwned | reinterpret_cast<uintptr_t>(undo);
  }
  static BasicUndo<Atomic>* undo_of(uint64_t word) {
    return reinterpret_cast<BasicUndo<Atomic>*>(word & ~kOwned);
  }
  // The word without its owner, if that rolled back; still kOwned otherwise.
  static uint64_t without_owner(uint64_t word) {
    if ((word & kOwned) == 0) return word;
    const BasicUndo<Atomic>* const undo = undo_of(word);
    // acquire: pairs with the release in roll_back; the row's bytes are as before.
    return undo->rolled_back.load(std::memory_order_acquire) ? undo->before : word;
  }
  static bool is_owned_by(uint64_t word, base::WorkerId worker) {
    if ((word & kOwned) == 0) return false;
    const BasicUndo<Atomic>* const undo = undo_of(word);
    // relaxed: of the worker's own Undo it is what it has stored itself.
    return undo->worker == worker && !undo->rolled_back.load(std::memory_order_relaxed);
  }
  // Whether the row is another than the snapshot saw: somebody is at it, or has committed since.
  // Asked by who does not own it.
  static bool is_changed(uint64_t word, base::Vid read_vid) {
    return is_hidden(without_owner(word), read_vid);
  }

  // The steps of a worker among several; a worker alone stores the word and the bytes itself.

  // Makes the row the Undo's, if its word is still the one that the Undo replaces.
  bool claim(BasicUndo<Atomic>* undo) {
    uint64_t expected = undo->replaced;
    // release on success: who meets the Undo finds it whole. relaxed on failure: what is there
    // instead is not looked at.
    return word.compare_exchange_strong(expected, owned_word(undo), std::memory_order_release,
                                        std::memory_order_relaxed);
  }
  // The owner: live_word or erased_word of its VID.
  void commit(const BasicUndo<Atomic>* undo, uint64_t committed) {
    // release: who reads it finds the Undo whole (V3).
    older.store(undo, std::memory_order_release);
    // release: whoever sees the VID may read the row.
    word.store(committed, std::memory_order_release);
  }
  // The leader, at the boundary: of a row that was rolled back and not claimed since.
  void forget_owner(const BasicUndo<Atomic>* undo) {
    // relaxed: nobody else runs, here and below.
    if (word.load(std::memory_order_relaxed) != owned_word(undo)) return;
    // relaxed: as above.
    word.store(undo->before, std::memory_order_relaxed);
  }
};

// Where group 0's version lies; the other groups' lie in front of it.
template <template <class> class Atomic>
struct BasicRowSlot : BasicRowVersion<Atomic> {
  using Version = BasicRowVersion<Atomic>;

  // With one worker: whether there is a row, for the transaction that runs.
  bool is_there() const {
    // relaxed: one worker.
    const uint64_t here = this->word.load(std::memory_order_relaxed);
    return (here & kOwned) != 0 ? !Version::undo_of(here)->erased : (here & kLive) != 0;
  }

  std::byte* row() { return reinterpret_cast<std::byte*>(this + 1); }
  const std::byte* row() const { return reinterpret_cast<const std::byte*>(this + 1); }
  // The row's bytes as the words that several workers share.
  Atomic<uint64_t>* row_words() { return reinterpret_cast<Atomic<uint64_t>*>(this + 1); }
  const Atomic<uint64_t>* row_words() const {
    return reinterpret_cast<const Atomic<uint64_t>*>(this + 1);
  }
  Version& group(uint32_t number) {
    return *reinterpret_cast<Version*>(reinterpret_cast<std::byte*>(this) -
                                       sizeof(Version) * number);
  }
  const Version& group(uint32_t number) const {
    return *reinterpret_cast<const Version*>(reinterpret_cast<const std::byte*>(this) -
                                             sizeof(Version) * number);
  }

  // Of a row that comes or goes as a whole, whose bytes nobody else may read yet, or any more.
  void set_words(uint32_t group_count, uint64_t value) {
    for (uint32_t number = group_count; number-- > 0;) {
      // release: who finds the row by group 0's word, the last, finds the Undo and the other words.
      group(number).word.store(value, std::memory_order_release);
    }
  }
  // The owner, after keep_image(): the words' new values.
  void show(WordSpan span, const uint64_t* values) {
    for (uint32_t i = 0; i < span.count; ++i) {
      // release: pairs with the acquire in read_words; the image is there (V1).
      row_words()[span.first + i].store(values[i], std::memory_order_release);
    }
  }
  // The owner: puts the images back. True: the word goes on naming the Undo, until forget_owner().
  bool roll_back(BasicUndo<Atomic>* undo) {
    // relaxed: the owner alone writes it.
    const BeforeImage* const newest = undo->images.load(std::memory_order_relaxed);
    for (const BeforeImage* image = newest; image != nullptr; image = image->next) {
      show({image->first_word, image->word_count}, image->words());
    }
    if (newest == nullptr) {
      // release: the row's bytes have been the same all the while (V2).
      group(undo->group).word.store(undo->replaced, std::memory_order_release);
      return false;
    }
    // release: pairs with the acquire in without_owner. The word stays (V2).
    undo->rolled_back.store(true, std::memory_order_release);
    return true;
  }
};

// The owner: fills the image with the row's present words, and adds it to the Undo.
template <template <class> class Atomic>
void keep_image(const BasicRowSlot<Atomic>& slot, WordSpan span, BeforeImage* image,
                BasicUndo<Atomic>* undo) {
  // relaxed: the owner alone writes it.
  image->next = undo->images.load(std::memory_order_relaxed);
  image->first_word = span.first;
  image->word_count = span.count;
  const std::byte* const words = slot.row() + size_t{8} * span.first;
  if (span.count == 1) {
    std::memcpy(image->words(), words, 8);
  } else if (span.count == 2) {
    std::memcpy(image->words(), words, 16);
  } else {
    std::memcpy(image->words(), words, size_t{8} * span.count);
  }
  // release: who meets the new bytes finds the image whole (V1).
  undo->images.store(image, std::memory_order_release);
}

using Undo = BasicUndo<std::atomic>;
using RowVersion = BasicRowVersion<std::atomic>;
using RowSlot = BasicRowSlot<std::atomic>;
static_assert(sizeof(RowSlot) == 16 && alignof(RowSlot) == 8);

}  // namespace diptych::oltp
