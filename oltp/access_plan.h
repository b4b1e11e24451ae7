// AccessPlan: the rows that a request is going to touch, as far as its arguments tell.
//
//   ProcedureOptions<TransferArgs>{.access = [=](const TransferArgs& args, AccessPlan& plan) {
//     plan.row<&Account::balance>(by_id, args.from);
//     plan.row<&Account::balance>(by_id, args.to);
//   }}
//
// A procedure may declare one. While a worker runs a request, it has index buckets fetched into the
// cache for one request and rows for another, some requests ahead, so that their misses overlap
// with work. A plan changes nothing but the speed: it may name too few rows, too many, or others.
// With one worker, a procedure that looks up rows in the order of its plan finds them by it, and
// asks no index a second time (TransactionCore::find_planned).
//
//   request i   run          i+4   look up the buckets,         i+8   make the plan,
//                                  fetch the rows' lines              fetch the buckets
//
// Which rows a procedure touches may depend on others. It then makes a plan of its own on the way,
// for rows that it will want a little later:
//
//   AccessPlan plan = txn.make_plan();
//   for (const auto& order : orders) plan.row<&Customer::c_balance>(by_id, w, d, order.c_id);
//   ...                    // the buckets come meanwhile
//   plan.fetch_rows();
//   ...                    // the rows come meanwhile
//
// Threads    one worker's.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "oltp/hash_index.h"
#include "oltp/row_fetch.h"
#include "oltp/table_ref.h"

namespace diptych::oltp {

struct EngineCore;
struct Table;
struct TableIndex;

// A row that a plan names.
struct PlannedRow {
  const TableIndex* index;
  HashIndex::Place place;
  SlotLines lines;
  // Of the first row that may be it, once it was fetched; null: there was none.
  RowSlot* slot;
  base::RowId row_id;
};
using PlannedRows = std::span<const PlannedRow>;

class AccessPlan {
 public:
  static constexpr size_t kRowsMax = 40;    // further ones are left out
  static constexpr size_t kRangesMax = 10;  // likewise
  static constexpr size_t kEndsMax = 4;     // likewise

  explicit AccessPlan(const EngineCore* core) : core_(core) {}

  // A row by the whole key of a unique index, and which columns (none named: all) are wanted. Of a
  // hash index; of others it is left out.
  template <auto... Columns, auto... KeyMembers, class... KeyValues>
  void row(const IndexRef<KeyMembers...>& index, const KeyValues&... key) {
    using Ref = IndexRef<KeyMembers...>;
    static_assert(sizeof...(KeyValues) == Ref::kParts, "a row has the whole key");
    if (row_count_ == kRowsMax) return;
    const base::Key wanted = detail::make_index_key<Ref>(key...);
    if (!wanted.ok()) return;
    if constexpr (Ref::kNumberBytes != 0) {
      add_row(index.index, key_hash<Ref::kNumberBytes>(wanted.bytes().data()),
              lines_of_members<typename Ref::Row, Columns...>());
    } else {
      add_row(index.index, key_hash(wanted.bytes()),
              lines_of_members<typename Ref::Row, Columns...>());
    }
  }

  // The first `count` rows, up to IndexCursor::kGroupMax, of those whose keys in an ordered index
  // begin with these parts, and which columns are wanted.
  template <auto... Columns, auto... KeyMembers, class... KeyValues>
  void range(const IndexRef<KeyMembers...>& index, size_t count, const KeyValues&... key) {
    using Ref = IndexRef<KeyMembers...>;
    if (range_count_ == kRangesMax) return;
    add_range(index.index, count, detail::make_index_key<Ref>(key...),
              lines_of_members<typename Ref::Row, Columns...>());
  }

  // Where the entries of an ordered index with these first key parts end: the place of a new one
  // whose further parts are greater than theirs.
  template <auto... KeyMembers, class... KeyValues>
  void end(const IndexRef<KeyMembers...>& index, const KeyValues&... key) {
    if (end_count_ == kEndsMax) return;
    add_end(index.index, detail::make_index_key<IndexRef<KeyMembers...>>(key...));
  }

  void clear() { row_count_ = range_count_ = end_count_ = 0; }
  // Fetches what the plan names; the indexes' buckets should have come meanwhile.
  void fetch_rows();
  // As they were named.
  PlannedRows rows() const { return std::span(rows_).first(row_count_); }

 private:
  struct Range {
    const TableIndex* index;
    size_t count;
    base::Key first_parts;
    SlotLines lines;
  };
  struct End {
    const TableIndex* index;
    const void* node;
  };

  void add_row(base::IndexId index, uint64_t hash, SlotLines lines);
  // nullptr: it is none, or the key is none of its.
  const TableIndex* ordered_index(base::IndexId index, const base::Key& first_parts) const;
  void add_range(base::IndexId index, size_t count, const base::Key& first_parts, SlotLines lines);
  void add_end(base::IndexId index, const base::Key& first_parts);
  void fetch_ranges() const;

  const EngineCore* core_;
  size_t row_count_ = 0;
  size_t range_count_ = 0;
  size_t end_count_ = 0;
  std::array<PlannedRow, kRowsMax> rows_;
  std::array<Range, kRangesMax> ranges_;
  std::array<End, kEndsMax> ends_;
};

}  // namespace diptych::oltp
