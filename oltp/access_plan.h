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
//
//   request i   run          i+4   look up the buckets,         i+8   make the plan,
//                                  fetch the rows' lines              fetch the buckets
//
// Threads    one worker's.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "oltp/hash_index.h"
#include "oltp/table_ref.h"

namespace diptych::oltp {

struct EngineCore;
struct Table;
struct TableIndex;

class AccessPlan {
 public:
  static constexpr size_t kRowsMax = 40;   // further ones are left out
  static constexpr size_t kRangesMax = 2;  // likewise
  static constexpr size_t kEndsMax = 4;    // likewise

  explicit AccessPlan(const EngineCore* core) : core_(core) {}

  // A row by the whole key of a unique index, and which columns (none named: all) are wanted. Of a
  // hash index; of others it is left out.
  template <auto... Columns, auto... KeyMembers, class... KeyValues>
  void row(const IndexRef<KeyMembers...>& index, const KeyValues&... key) {
    static_assert(sizeof...(KeyValues) == sizeof...(KeyMembers), "a row has the whole key");
    if (row_count_ == kRowsMax) return;
    static constexpr std::array<base::ColumnId, sizeof...(Columns)> kColumns{
        base::kColumn<Columns>...};
    using Ref = IndexRef<KeyMembers...>;
    const base::Key wanted = detail::make_index_key<Ref>(key...);
    if (!wanted.ok()) return;
    if constexpr (Ref::kNumberBytes != 0) {
      add_row(index.index, HashIndex::hash_of_fixed<Ref::kNumberBytes>(wanted.bytes().data()),
              kColumns);
    } else {
      add_row(index.index, HashIndex::hash_of(wanted.bytes()), kColumns);
    }
  }

  // The first rows, whole, of a range of an ordered index.
  template <auto... KeyMembers, class... KeyValues>
  void range(const IndexRef<KeyMembers...>& index, const KeyValues&... key) {
    if (range_count_ == kRangesMax) return;
    add_range(index.index, prefix(index, key...));
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
  void fetch_rows() const;

 private:
  struct Row {
    const TableIndex* index;
    uint64_t hash;
    uint64_t lines;  // of the slot: bit i stands for bytes [64 i, 64 i + 64)
  };
  struct Range {
    const TableIndex* index;
    KeyRange keys;
  };
  struct End {
    const TableIndex* index;
    const void* node;
  };

  void add_row(base::IndexId index, uint64_t hash, std::span<const base::ColumnId> columns);
  void add_range(base::IndexId index, const KeyRange& keys);
  void add_end(base::IndexId index, const base::Key& first_parts);

  const EngineCore* core_;
  size_t row_count_ = 0;
  size_t range_count_ = 0;
  size_t end_count_ = 0;
  std::array<Row, kRowsMax> rows_;
  std::array<Range, kRangesMax> ranges_;
  std::array<End, kEndsMax> ends_;
};

}  // namespace diptych::oltp
