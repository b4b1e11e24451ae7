// Index: entries of (key, RowId), for searches by equality and order. Implementations are
// hash_index.h, and ordered_index.cpp over bw_tree.h.
//
// Keys are normalised (base/key.h) and, within one index, prefix-free. Several rows may have
// entries with the same key, also in a unique index, because entries of dead rows, and of rows that
// have changed their key, stay as long as a snapshot may need them, or until the batch boundary
// (dead_entries.h). So entries are candidates, and a reader checks the rows. A hash index stores no
// keys; its candidates are rows whose keys have the same hash bits.
//
// Threads    any worker may call every operation, in Concurrency::kShared. Callbacks must be short
//            and must not call an index; they may be called again. next_group copies candidates, so
//            that a procedure can look at rows between two calls.
// Memory     on the replica's node; constant for a constant number of entries, except for the hints
//            of an ordered index (bw_hints.h), which come with each worker's first operations.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/ids.h"
#include "base/key.h"
#include "base/memory_place.h"

namespace diptych::oltp {

enum class Concurrency : uint8_t {
  kSingle,  // one worker, without locks
  kShared,  // up to kWorkersMax workers
};
inline constexpr uint32_t kWorkersMax = 64;

// AsWorker: while it lives, the calling thread acts as this worker, for data that indexes keep for
// each worker. Two threads that use an index at the same time are different workers.
class AsWorker {
 public:
  explicit AsWorker(base::WorkerId worker) : before_(std::exchange(current_, worker.value)) {}
  AsWorker(const AsWorker&) = delete;
  AsWorker& operator=(const AsWorker&) = delete;
  ~AsWorker() { current_ = before_; }
  static uint32_t current() { return current_; }  // kWorkersMax: none

 private:
  static constinit inline thread_local uint32_t current_ = kWorkersMax;
  uint32_t before_;
};

// The verdict on a row with the same key, when another row is inserted.
enum class KeyVerdict : uint8_t {
  kFree,      // the row is dead, or has another key now
  kTaken,     // the row is visible and has the key
  kConflict,  // another transaction is changing the row, or has changed it after the snapshot
};

enum class IndexInsert : uint8_t { kInserted, kPresent, kTaken, kConflict };

// A callable (RowId) -> Verdict, by reference.
template <class Verdict>
class RowCheck {
 public:
  template <class Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, RowCheck>)
  explicit RowCheck(const Callable& callable)
      : callable_(&callable), call_([](const void* target, base::RowId row_id) -> Verdict {
          return (*static_cast<const Callable*>(target))(row_id);
        }) {}
  Verdict operator()(base::RowId row_id) const { return call_(callable_, row_id); }

 private:
  const void* callable_;
  Verdict (*call_)(const void*, base::RowId);
};
using UniquenessCheck = RowCheck<KeyVerdict>;
using CandidateVisitor = RowCheck<bool>;  // returns true to go on

enum class Direction : uint8_t { kForward, kBackward };

// The keys that a scan copies with the candidates: of all of them, or of the last.
enum class CursorKeys : uint8_t { kAll, kLast };

// The position of a range scan, and the last copied group of candidates.
struct IndexCursor {
  static constexpr size_t kGroupMax = 32;

  // `count_wanted` is the number of candidates that is enough if all of them are valid. Further
  // ones are copied by later calls.
  IndexCursor(std::string_view lower_key, std::string_view upper_key, Direction scan_direction,
              uint64_t count_wanted = UINT64_MAX, CursorKeys copied = CursorKeys::kAll)
      : lower(lower_key),
        upper(upper_key),
        direction(scan_direction),
        keys_copied(copied),
        wanted(count_wanted) {}

  std::string_view lower;  // inclusive
  std::string_view upper;  // exclusive; empty means no bound
  // Divides the entries of the bound at which the scan begins: a forward scan leaves out those of
  // lesser rows, and a backward scan has only those.
  uint64_t begin_row = 0;
  Direction direction;
  CursorKeys keys_copied;
  uint64_t wanted;
  bool started = false;
  bool finished = false;

  size_t count = 0;
  size_t key_stride = 0;
  base::RowId rows[kGroupMax];
  // The key of the last candidate and, with kAll, the keys of all. They are zero-padded to the
  // stride, and uninitialised at first.
  alignas(8) std::byte last_key[base::kKeyBytesMax];
  alignas(8) std::byte keys[kGroupMax * base::kKeyBytesMax];

  // Candidate i's key, padded.
  std::string_view key(size_t i) const {
    return {reinterpret_cast<const char*>(keys) + i * key_stride, key_stride};
  }
  // True if candidate i's entry has this key. (An index's keys are prefix-free, so a common prefix
  // means equality.)
  bool has_key(size_t i, std::string_view key) const {
    return std::memcmp(keys + i * key_stride, key.data(), key.size()) == 0;
  }
};

class IndexBuild;  // oltp/index_build.h

class Index {
 public:
  virtual ~Index() = default;

  // Adds an entry; returns kPresent if exactly this entry exists. `check` is called for every other
  // row with the key, and again if further rows arrive meanwhile; the first verdict other than
  // kFree decides. Of several rows that show the key before they insert it, at most one gets it.
  // Without a check (nullptr), any number of rows may share the key.
  virtual IndexInsert insert(std::string_view key, base::RowId row_id,
                             const UniquenessCheck* check) = 0;
  // Removes an entry; returns false if it does not exist.
  virtual bool erase(std::string_view key, base::RowId row_id) = 0;

  // Calls visit for the candidates with the key until it returns false.
  virtual void find(std::string_view key, const CandidateVisitor& visit) const = 0;
  // Prefetch the memory for an insertion behind the last entry with the prefix, in two steps: first
  // the node, if it is known at little cost (otherwise nullptr), and, when that has arrived, the
  // place in it.
  virtual const void* prefetch_end_node(std::string_view) const { return nullptr; }
  virtual void prefetch_end(const void*) const {}

  // Prefetches the first `count` entries from each of up to kPrefetchMax keys on, and the nodes
  // that lead to them, so that the misses overlap.
  static constexpr size_t kPrefetchMax = 16;
  virtual void prefetch_ranges(std::span<const std::string_view>, size_t /*count*/) const {}

  // Sets found[i] to a candidate with keys[i], or to kNoRow if none is known. The misses of up to
  // kPrefetchMax keys, which is all that it takes, overlap.
  static constexpr base::RowId kNoRow{UINT64_MAX};
  virtual void find_each(std::span<const std::string_view>, std::span<base::RowId> found) const {
    std::fill(found.begin(), found.end(), kNoRow);
  }

  // Fills the cursor with the next candidates in key order; its count is 0 at the end. Entries
  // added meanwhile behind the cursor's position may be missed. No other entry is missed, and none
  // comes twice. Ordered indexes only.
  virtual void next_group(IndexCursor* cursor) const = 0;

  // The leader calls the following functions while no other operation runs.

  // Begins to fill an empty index with at most `entries_max` entries, from `lanes` threads.
  virtual std::unique_ptr<IndexBuild> begin_build(uint64_t entries_max, uint32_t lanes) = 0;
  // Announces that further operations come from one worker, or from several.
  virtual void set_concurrency(Concurrency) {}
  // Ends a batch: memory that the batch replaced may be reused.
  virtual void reclaim() {}
  virtual uint64_t entry_count() const = 0;
  // Checks the invariants, stops the program if one does not hold, and returns the number of
  // entries.
  virtual uint64_t check() const = 0;
  virtual size_t memory_bytes() const = 0;
};

// For keys with few rows each, because entries with equal keys form one chain.
std::unique_ptr<Index> make_hash_index(Concurrency concurrency, base::MemoryPlace place);
// No key is longer than `key_bytes_max`; narrow keys make a fast tree.
std::unique_ptr<Index> make_ordered_index(size_t key_bytes_max, Concurrency concurrency,
                                          base::MemoryPlace place);

}  // namespace diptych::oltp
