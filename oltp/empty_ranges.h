// EmptyRanges: ranges of ordered indexes in which the running transaction sees no row, so that its
// scans begin behind them.
//
// Entries stay in their index while the transaction runs. So one that drains a queue row by row
// would pass, at each scan, all entries of rows that it has erased or re-keyed before. Instead, a
// scan that has passed such entries notes where it got to before it met a visible row, and a later
// scan in the same direction that begins within the noted range goes on from there.
//
//   forward    bound <= entries < end          backward    end <= entries < bound
//
// A noted range stays empty, because the snapshot does not move: whatever other transactions add to
// it is invisible. The transaction's own new entries are told by make_room(), which cuts the range
// in front of them. For a serializable transaction, the scans that found the range empty have
// recorded all of it (read_set.h), so a later scan records only what it looks at.
//
// Threads    one worker.
// Cost       nothing for transactions that pass no dead entries of their own. At most kRangesMax
//            ranges are known; a further one replaces the oldest.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "oltp/index.h"

namespace diptych::oltp {

struct TableIndex;

struct EmptyRange {
  const TableIndex* index;
  Direction direction;
  std::string bound;  // where its scans began; if empty, there is no bound
  std::string end_key;
  uint64_t end_row;  // divides the entries of end_key, as IndexCursor::begin_row does
};

class EmptyRanges {
 public:
  static constexpr size_t kRangesMax = 32;

  void clear() {
    if (!ranges_.empty()) ranges_.clear();
  }

  // A range in which a scan from the bound begins; nullptr if none is known. Valid until the next
  // call of another function.
  EmptyRange* find(const TableIndex& index, Direction direction, std::string_view bound) {
    return ranges_.empty() ? nullptr : search(index, direction, bound);
  }
  // Notes that the cursor, whose scan began at the bound, has met nothing visible up to its last
  // candidate. `from` is the range behind which it began, or nullptr. Returns the range.
  EmptyRange* note(const TableIndex& index, std::string_view bound, const IndexCursor& cursor,
                   EmptyRange* from);
  // The transaction adds an entry to the index.
  void make_room(const TableIndex& index, std::string_view key, base::RowId row_id) noexcept {
    if (!ranges_.empty()) cut(index, key, row_id.value);
  }

 private:
  EmptyRange* search(const TableIndex& index, Direction direction, std::string_view bound);
  void cut(const TableIndex& index, std::string_view key, uint64_t row) noexcept;

  std::vector<EmptyRange> ranges_;
  size_t oldest_ = 0;  // once there are kRangesMax
};

}  // namespace diptych::oltp
