// AccessPlan: the rows that a request will touch, as far as its arguments determine them.
//
//   ProcedureOptions<TransferArgs>{.access = [=](const TransferArgs& args, AccessPlan& plan) {
//     plan.row<&Account::balance>(by_id, args.from);
//     plan.row<&Account::balance>(by_id, args.to);
//   }}
//
// A procedure may declare one. While a worker runs a request, it prefetches index buckets for one
// later request and rows for another, so that their misses overlap with work. A plan only affects
// speed: it may name too few rows, too many, or wrong ones. With one worker, or in an ordered
// index, a procedure that looks up rows in the order of its plan finds them by the plan, without a
// second search of the index (TransactionCore::find_planned, find_unique).
//
//   request i   run          i+4   look up the buckets,         i+8   make the plan,
//                                  fetch the rows' lines              fetch the buckets
//
// The rows that a procedure touches may depend on other rows. It can then make a plan while it
// runs, for rows that it will need a little later:
//
//   AccessPlan plan = txn.make_plan();
//   for (const auto& order : orders) plan.row<&Customer::c_balance>(by_id, w, d, order.c_id);
//   ...                    // the buckets come meanwhile
//   plan.fetch_rows();
//   ...                    // the rows come meanwhile
//
// Threads    one worker.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>

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
  // The first candidate row, once it was fetched; null if there was none.
  RowSlot* slot;
  base::RowId row_id;
};
using PlannedRows = std::span<const PlannedRow>;

class AccessPlan {
 public:
  static constexpr size_t kRowsMax = 40;    // further ones are ignored
  static constexpr size_t kRangesMax = 10;  // likewise
  static constexpr size_t kEndsMax = 4;     // likewise

  explicit AccessPlan(const EngineCore* core) : core_(core) {}

  // Names a row by the whole key of a unique hash index, and the columns that are needed (no
  // columns: all). Other indexes are ignored.
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

  // Names rows as row() does, and those of a unique ordered index as well: these are found at once,
  // up to Index::kPrefetchMax of them together. Keys are std::tuples of the index's parts.
  template <auto... Columns, auto... KeyMembers>
  void each(const IndexRef<KeyMembers...>& index,
            std::span<const typename IndexRef<KeyMembers...>::Parts> wanted) {
    using Ref = IndexRef<KeyMembers...>;
    const TableIndex* const ordered = unique_ordered_index(index.index);
    if (ordered == nullptr) {
      for (const auto& parts : wanted) {
        std::apply([&](const auto&... part) { row<Columns...>(index, part...); }, parts);
      }
      return;
    }
    const SlotLines lines = lines_of_members<typename Ref::Row, Columns...>();
    std::array<base::Key, Index::kPrefetchMax> keys;
    size_t count = 0;
    for (const auto& parts : wanted) {
      keys[count] = std::apply(
          [](const auto&... part) { return detail::make_index_key<Ref>(part...); }, parts);
      if (keys[count].ok()) ++count;
      if (count < keys.size()) continue;
      find_rows(*ordered, keys, lines);
      count = 0;
    }
    find_rows(*ordered, std::span(keys).first(count), lines);
  }

  // Names the first `count` rows (at most IndexCursor::kGroupMax) whose keys in an ordered index
  // begin with these parts, and the columns that are needed.
  template <auto... Columns, auto... KeyMembers, class... KeyValues>
  void range(const IndexRef<KeyMembers...>& index, size_t count, const KeyValues&... key) {
    using Ref = IndexRef<KeyMembers...>;
    if (range_count_ == kRangesMax) return;
    add_range(index.index, count, detail::make_index_key<Ref>(key...),
              lines_of_members<typename Ref::Row, Columns...>());
  }

  // Names the end of an ordered index's entries with these first key parts, where a new entry with
  // greater further parts belongs.
  template <auto... KeyMembers, class... KeyValues>
  void end(const IndexRef<KeyMembers...>& index, const KeyValues&... key) {
    if (end_count_ == kEndsMax) return;
    add_end(index.index, detail::make_index_key<IndexRef<KeyMembers...>>(key...));
  }

  void clear() { row_count_ = range_count_ = end_count_ = 0; }
  // Prefetches the named rows. The indexes' buckets should have arrived by then.
  void fetch_rows();
  // The rows in the order in which they were named.
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
  // nullptr if the index is not ordered, or not unique.
  const TableIndex* unique_ordered_index(base::IndexId index) const;
  void find_rows(const TableIndex& index, std::span<const base::Key> keys, SlotLines lines);
  // nullptr if the index is not ordered, or if the key does not fit it.
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
