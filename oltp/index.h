// Index: (key, RowId) entries for equality and order. Implementations: hash_index.h, and
// ordered_index.cpp over bw_tree.h.
//
// Keys are normalised (base/key.h) and, within one index, prefix-free. The same key may stand for
// several rows, also in a unique index: rows that are dead, or that have another key by now, stay
// until the batch boundary. A reader therefore takes entries as candidates and looks at the rows.
// A hash index has no keys at all: its candidates are rows whose keys have the same hash bits.
//
// Threads    every operation by any worker, while in Concurrency::kShared. Callbacks must be
//            short and must not call an index; they may be called again. next_group copies out, so
//            that a procedure looks at rows between two of its calls.
// Memory     on the replica's node; constant for a constant number of entries.

#pragma once

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
  kSingle,  // one worker: nothing is locked
  kShared,  // up to kWorkersMax
};
inline constexpr uint32_t kWorkersMax = 64;

// The calling thread is this worker, for what indexes keep by worker; no two threads that are at
// the same index at once are the same one.
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

// What the rows that have a key already mean for the insertion of another.
enum class KeyVerdict : uint8_t {
  kFree,      // dead, or has another key by now
  kTaken,     // a visible row has the key
  kConflict,  // another transaction is at it, or was after the snapshot
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
using CandidateVisitor = RowCheck<bool>;  // returns whether to go on

// Whose keys a scan copies out with the candidates.
enum class CursorKeys : uint8_t { kAll, kLast };

// Where a range scan stands, and the candidates that were copied out last.
struct IndexCursor {
  static constexpr size_t kGroupMax = 32;

  // `count_wanted`: how many candidates will do if all are good; more are copied out later on.
  IndexCursor(std::string_view lower_key, std::string_view upper_key, bool go_forward,
              uint64_t count_wanted = UINT64_MAX, CursorKeys copied = CursorKeys::kAll)
      : lower(lower_key),
        upper(upper_key),
        forward(go_forward),
        keys_copied(copied),
        wanted(count_wanted) {}

  std::string_view lower;  // inclusive
  std::string_view upper;  // exclusive; empty: no bound
  bool forward;
  CursorKeys keys_copied;
  uint64_t wanted;
  bool started = false;
  bool finished = false;

  size_t count = 0;
  size_t key_stride = 0;
  base::RowId rows[kGroupMax];
  // Zero-padded to the stride, and not initialised: the last candidate's key, and, where they are
  // wanted, the keys of all.
  alignas(8) std::byte last_key[base::kKeyBytesMax];
  alignas(8) std::byte keys[kGroupMax * base::kKeyBytesMax];

  // Candidate i's key, padded.
  std::string_view key(size_t i) const {
    return {reinterpret_cast<const char*>(keys) + i * key_stride, key_stride};
  }
  // True if candidate i's entry has this key (keys of an index are prefix-free, so none is another
  // one's beginning).
  bool has_key(size_t i, std::string_view key) const {
    return std::memcmp(keys + i * key_stride, key.data(), key.size()) == 0;
  }
};

class IndexBuild;  // oltp/index_build.h

class Index {
 public:
  virtual ~Index() = default;

  // Adds an entry; kPresent if there is just that one already. `check` is asked about every other
  // row with the key, again if others have come meanwhile; the first verdict that is not kFree
  // decides. Of rows that say that they have the key before they insert it, no two get it.
  // Without a check (nullptr) any number of rows may share the key.
  virtual IndexInsert insert(std::string_view key, base::RowId row_id,
                             const UniquenessCheck* check) = 0;
  // False: there is no such entry.
  virtual bool erase(std::string_view key, base::RowId row_id) = 0;

  virtual void find(std::string_view key, const CandidateVisitor& visit) const = 0;
  // Fetches what an insertion behind the last entry with the prefix will need into the cache, in
  // two steps: the node, if it is known at little cost (else null), and, once that has come, the
  // place in it.
  virtual const void* prefetch_end_node(std::string_view) const { return nullptr; }
  virtual void prefetch_end(const void*) const {}

  // Fetches the first entries, as many as said, from each of these keys on, and what leads to them,
  // so that the misses overlap: up to kPrefetchMax keys.
  static constexpr size_t kPrefetchMax = 16;
  virtual void prefetch_ranges(std::span<const std::string_view>, size_t /*count*/) const {}

  // Fills the cursor with the next candidates in key order; its count is 0 at the end. Entries
  // added behind the cursor's position meanwhile may be missed, no other is, and none comes twice.
  // Ordered indexes only.
  virtual void next_group(IndexCursor* cursor) const = 0;

  // The leader, when no operation is under way, here and below. Of an empty index: fills it with at
  // most so many entries, from so many threads.
  virtual std::unique_ptr<IndexBuild> begin_build(uint64_t entries_max, uint32_t lanes) = 0;
  // What is to come is one worker's, or several ones'.
  virtual void set_concurrency(Concurrency) {}
  // The batch is over: what it replaced may be reused.
  virtual void reclaim() {}
  virtual uint64_t entry_count() const = 0;
  // Stops where an invariant does not hold; returns the number of entries.
  virtual uint64_t check() const = 0;
  virtual size_t memory_bytes() const = 0;
};

// For keys with few rows each: entries with equal keys lie in one chain.
std::unique_ptr<Index> make_hash_index(Concurrency concurrency, base::MemoryPlace place);
// `key_bytes_max`: no key is longer; narrow keys make a fast tree.
std::unique_ptr<Index> make_ordered_index(size_t key_bytes_max, Concurrency concurrency,
                                          base::MemoryPlace place);

}  // namespace diptych::oltp
