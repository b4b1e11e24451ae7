// ReadSet: the reads of a serializable transaction, and their validation when it commits (backward
// validation of reads and ranges; Hekaton, VLDB'11, section 3.2, without its waits).
//
// A transaction reads the state at its read VID and writes at its commit VID. It is serializable,
// in the order of VIDs, if its reads give the same at both. So a transaction that has changed
// something is validated before it gets its VID, against every commit since its snapshot:
//
//   row     found in a unique index: its newest commit (of the column groups that were read) is not
//           newer than the snapshot.
//   key     looked up in a unique index and not found, or refused to an insert because a row has
//           it: no row that the index gives for the key has a newer commit.
//   range   scanned, as far as the scan got (a limit or kStop ends it): as for a key, for all of
//           its entries. That covers the visited rows, too.
//
// An index entry, even if its row is erased or has another key, stays until all snapshots of the
// batch that are older than the row's newest change are through (dead_entries.h). So the same
// look-up meets every row that entered or left the range, and comparing words is enough; keys are
// not compared. The cost is a needless conflict if a row left the range earlier in the batch and
// was changed since.
//
// Some reads need no entry: the transaction's own rows (a claim is refused if the row was changed
// since the snapshot, and nobody else writes it then), and the key of an insert (the index refuses
// it to others; when the row is erased again, the key gets an entry). A row that another
// transaction merely owns is no conflict: that transaction commits later, and is validated against
// this one's writes. A transaction that changes nothing is not validated, because it saw the state
// at its read VID.
//
//   begin -> add_* , cut_range -> still_hold, without the lock
//         -> [somebody has committed since] still_hold, under commit_mutex -> the VID
//
// Cost       with one worker (Concurrency::kSingle) every execution is serial, and nothing is
//            recorded or validated. Otherwise a word for each row and two keys for each range;
//            nothing allocates in the steady state. The second pass, under the lock, is needed only
//            if another transaction has committed during the first.
// Threads    one worker.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "oltp/row_reader.h"
#include "oltp/row_version.h"
#include "oltp/table.h"

namespace diptych::oltp {

class ReadSet {
 public:
  // Begins a transaction: drops the reads of the last one.
  void begin(bool record) {
    if (recorded_) forget();
    recorded_ = record;
  }
  bool is_recorded() const { return recorded_; }

  // Adds a row with the column groups that were read; group 0, which says that the row exists,
  // always counts.
  void add_row(const RowSlot& slot, GroupMask groups) { rows_.push_back({&slot, groups}); }
  void add_key(const TableIndex& index, std::string_view key);
  // Adds the keys from `lower` to `upper` (exclusive; empty: no bound). Returns the range's number.
  size_t add_range(const TableIndex& index, std::string_view lower, std::string_view upper,
                   GroupMask groups);
  // Cuts the range at the key where the scan ended: keys beyond it were not read. The key is whole
  // and zero-padded, as in the index's cursor.
  void cut_range(size_t range, std::string_view last_key, Direction direction);
  // Drops the range if it is the newest, and the one before covers it: scans that pop rows of one
  // key would each have all of them validated.
  void drop_covered(size_t range);

  // True if the reads still hold; false if another transaction has changed them after the snapshot.
  // Considers every commit of which the caller knows (C1).
  bool still_hold(base::Vid read_vid) const;

 private:
  struct Bytes {  // in keys_
    size_t first;
    size_t count;
  };
  struct RowRead {
    const RowSlot* slot;
    GroupMask groups;
  };
  struct KeyRead {
    const TableIndex* index;
    Bytes key;
  };
  struct RangeRead {
    const TableIndex* index;
    Bytes lower;
    Bytes upper;
    GroupMask groups;
  };

  void forget();
  Bytes keep(std::string_view key);
  std::string_view view(Bytes bytes) const { return {keys_.data() + bytes.first, bytes.count}; }
  bool holds(const KeyRead& read, base::Vid read_vid) const;
  bool holds(const RangeRead& read, base::Vid read_vid) const;

  bool recorded_ = false;
  std::vector<RowRead> rows_;
  std::vector<KeyRead> absent_;
  std::vector<RangeRead> ranges_;
  std::vector<char> keys_;
};

}  // namespace diptych::oltp
