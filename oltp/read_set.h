// ReadSet: what a serializable transaction has read, and whether it is still so when it commits
// (backward validation of reads and ranges; Hekaton, VLDB'11, section 3.2, without its waits).
//
// A transaction reads the state at its read VID and writes at its commit VID. It is serializable,
// in the order of VIDs, if what it read is the same at both. So a transaction that has changed
// something is checked before it gets its VID, against every commit since its snapshot:
//
//   row     found in a unique index: its newest commit (of the column groups that were read) is not
//           newer than the snapshot.
//   key     looked up in a unique index and not found, or refused to an insert because a row has
//           it: no row that the index gives for the key has a newer commit.
//   range   scanned, as far as the scan got (a limit or kStop ends it): as for a key, for all of
//           its entries. That covers the rows that were visited, too.
//
// An entry of an index stays until the batch boundary, also that of a row which is erased or has
// another key by now, and a transaction ends within its batch. So whoever put a row into the range
// or took it out is met by the same look-up, and only words are looked at, not keys. The price: a
// row whose key left the range earlier in the batch and that was changed since counts as well.
//
// What needs no entry: the transaction's own rows (a claim is refused if the row was changed since
// the snapshot, and nobody else writes it then), and the key of an insert (the index refuses it to
// others; once the row is erased again it does not, and the key has one). A row that another
// transaction merely owns is fine: that one commits later, and is checked against this one's
// writes. A transaction that changes nothing is not checked: it is the state at its read VID that
// it saw.
//
//   begin -> add_* , cut_range -> hold, without the lock -> [somebody has committed since] hold,
//   under commit_mutex -> the VID
//
// Cost       with one worker (Concurrency::kSingle) transactions run one after the other, every
//            execution is serial, and nothing is recorded or checked. Else a word a row, two keys a
//            range; nothing allocates in the steady state. Under the lock only if another
//            transaction has committed during the first look.
// Threads    one worker's.

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
  // Forgets the last transaction's reads.
  void begin(bool record) {
    if (recorded_) forget();
    recorded_ = record;
  }
  bool is_recorded() const { return recorded_; }

  // With the column groups that were read; group 0, which tells that there is a row, always counts.
  void add_row(const RowSlot& slot, GroupMask groups) { rows_.push_back({&slot, groups}); }
  void add_key(const TableIndex& index, std::string_view key);
  // The keys from `lower` to `upper` (exclusive; empty: no bound). Gives the range's number.
  size_t add_range(const TableIndex& index, std::string_view lower, std::string_view upper,
                   GroupMask groups);
  // The scan ended at this key, whole and zero-padded as the index's cursor has it: what lies
  // beyond was not read.
  void cut_range(size_t range, std::string_view last_key, bool forward);

  // False: another transaction has changed what was read, after the snapshot. Every commit that
  // the caller knows of is looked at (C1).
  bool hold(base::Vid read_vid) const;

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
