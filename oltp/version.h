// Version: one state of a row. A row is a chain of them, newest first, under its slot
// (row_table.h).
//
//   0        8          16            20      21     22       24
//   | begin  | previous | write_index | class | kind | unused | row (RowLayout) | long strings
//
// begin is the commit VID, or kOwned | worker while the transaction that writes it runs. The Text
// cells of the row point at the string bytes behind it: a version is self-contained.
//
// Invariants
//   V1  Row bytes are written only while begin is owned, and only by the owner; immutable
//       afterwards. Whoever sees a commit VID in begin (acquire) may read the row until the batch
//       boundary.
//   V2  previous is followed only from a version that is owned or newer than the reader's snapshot.
//       At a boundary every row has one version (E1), so no reader follows a version's previous
//       once the batch that wrote it is over, and it need not be cleared when the older one is
//       reclaimed.
//
// Threads    the owner writes; any worker reads begin and previous.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/ids.h"

namespace diptych::oltp {

inline constexpr uint64_t kOwned = uint64_t{1} << 63;

// The begin word of what a worker's running transaction writes. A worker runs one transaction at a
// time and leaves no owned version behind, so its id is enough of a transaction id.
inline constexpr uint64_t owner_tag(base::WorkerId worker) {
  return kOwned | worker.value;
}

enum class VersionKind : uint8_t {
  kRow,
  kTombstone,  // the row is erased; the bytes are those it had last, for its index entries
};

struct Version {
  std::atomic<uint64_t> begin;  // writer: the owner
  Version* previous;
  uint32_t write_index;  // of the owner's write set, while owned
  uint8_t size_class;
  VersionKind kind;
  uint16_t unused;

  std::byte* row() { return reinterpret_cast<std::byte*>(this + 1); }
  const std::byte* row() const { return reinterpret_cast<const std::byte*>(this + 1); }
};
static_assert(sizeof(Version) == 24 && alignof(Version) == 8);

// The version that a snapshot sees, the reader's own writes first; nullptr: no row there.
inline const Version* visible_version(const Version* head, base::Vid read_vid, uint64_t own_tag) {
  for (const Version* version = head; version != nullptr; version = version->previous) {
    // acquire: pairs with the release in commit; the row bytes below are final (V1).
    const uint64_t begin = version->begin.load(std::memory_order_acquire);
    const bool seen = begin == own_tag || ((begin & kOwned) == 0 && begin <= read_vid.value);
    if (seen) return version->kind == VersionKind::kRow ? version : nullptr;
  }
  return nullptr;
}

}  // namespace diptych::oltp
