// Transaction: the operations by which a stored procedure reads and writes.
//
//   base::Result<Reply> next_order(Transaction& txn, const Args& args) {
//     auto district =
//         txn.get_for_update<&District::d_next_o_id>(tables.district_pkey, args.w, args.d);
//     if (!district) return district.error();
//     const int32_t order = district->values;
//     txn.update(*district, set<&District::d_next_o_id>(order + 1));
//     auto inserted = txn.insert(tables.orders, Order{...});
//     if (!inserted) return inserted.error();
//     return Reply{order};
//   }
//
// Reads name the columns they need (no columns: the whole row), writes the columns they change.
// The procedure may handle kNotFound and kAlreadyExists. After kConflict the transaction cannot
// commit, and every further operation fails with it: return it, and the engine runs the procedure
// again. A mistake of the procedure (kInvalidArgument) fails the transaction and names it.
//
// Limits     each operation counts, and each row that a scan visits. A transaction fails if it
//            exceeds operations_max, misuses a handle (below), or nests kScansOpenMax + 1 scans.
// Isolation  snapshot: reads see the state at read_vid() and the transaction's own writes. The
//            first to claim a row wins: later writers get kConflict, and so does a claim of a row
//            that was changed after read_vid(). In a table with column groups this holds for each
//            group of a row; a claim covers the groups of the columns that it names (no columns:
//            all), and erase claims the rest. Serializable: in addition, a transaction that changes
//            something runs again if its reads have changed by the time it commits (read_set.h).
// Strings    a long string in a row or tuple that was read points into the database until the
//            procedure returns. Long strings that are written are copied at the call; those of the
//            reply when the procedure has returned: keep() holds one that it makes up till then.
// Threads    one: the worker that runs the procedure.
// Cost       a read copies the named cells; get_for_update claims with one compare-and-swap.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "base/ids.h"
#include "base/result.h"
#include "base/row_binding.h"
#include "base/types.h"
#include "oltp/cell_precision.h"
#include "oltp/projection.h"
#include "oltp/set.h"
#include "oltp/table_ref.h"
#include "oltp/transaction_core.h"

namespace diptych::oltp {

namespace detail {
template <size_t kCount>
constexpr bool are_distinct(const std::array<base::ColumnId, kCount>& columns) {
  for (size_t i = 0; i < kCount; ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (columns[i] == columns[j]) return false;
    }
  }
  return true;
}
}  // namespace detail

// A row that was read, with its handle, by which its columns can be claimed.
template <class RowType, class ValuesType>
struct FoundRow {
  using Row = RowType;
  RowHandle handle;
  ValuesType values;
};

// A claimed row, or claimed column groups of a row. Only this transaction may write them until it
// ends.
template <class RowType, class ValuesType>
struct Claimed {
  using Row = RowType;
  RowHandle handle;
  ValuesType values;  // as they were at the claim
};

enum class ScanStep : uint8_t { kContinue, kStop };

class Transaction : public TransactionCore {
 public:
  using TransactionCore::TransactionCore;

  // Reads the row of a unique index whose key equals the values (all parts). Error: kNotFound.
  template <auto... Columns, auto... KeyMembers, class... KeyValues>
  auto get(const IndexRef<KeyMembers...>& index, const KeyValues&... key) {
    using Row = typename IndexRef<KeyMembers...>::Row;
    using Projected = Projection<Row, Columns...>;
    static_assert(sizeof...(KeyValues) == sizeof...(KeyMembers), "get takes the whole key");
    using Out = base::Result<typename Projected::Values>;
    const base::Result<Found> found = look_up<Projected>(index, key...);
    return found ? Out(Projected::load(found->row)) : Out(found.error());
  }

  // As get, with the row's handle. A later claim may name columns of other groups:
  //   auto found = txn.find<&District::d_name>(tables.district_pkey, args.w, args.d);
  //   auto claimed = txn.claim<District, &District::d_ytd>(found->handle);
  template <auto... Columns, auto... KeyMembers, class... KeyValues>
  auto find(const IndexRef<KeyMembers...>& index, const KeyValues&... key) {
    using Row = typename IndexRef<KeyMembers...>::Row;
    using Projected = Projection<Row, Columns...>;
    static_assert(sizeof...(KeyValues) == sizeof...(KeyMembers), "find takes the whole key");
    using Read = FoundRow<Row, typename Projected::Values>;
    using Out = base::Result<Read>;
    const base::Result<Found> found = look_up<Projected>(index, key...);
    return found ? Out(Read{found->handle, Projected::load(found->row)}) : Out(found.error());
  }

  // As get for many keys at once, whose cache misses overlap. Calls visit(i, values) for each key
  // that has a row. Keys are std::tuples of the index's parts.
  template <auto... Columns, auto... KeyMembers, class Visit>
  base::Result<void> get_each(const IndexRef<KeyMembers...>& index,
                              std::span<const typename IndexRef<KeyMembers...>::Parts> wanted,
                              Visit&& visit) {
    // While a group's rows are read, the next group's rows and a third one's buckets are fetched.
    AccessPlan plans[] = {make_plan(), make_plan(), make_plan()};
    const auto plan_of = [&](size_t first) -> AccessPlan& {
      return plans[first / kGroupOfKeys % std::size(plans)];
    };
    const auto plan_group = [&](size_t first) {
      AccessPlan& plan = plan_of(first);
      plan.clear();
      const size_t begin = std::min(first, wanted.size());
      const size_t count = std::min(kGroupOfKeys, wanted.size() - begin);
      plan.each<Columns...>(index, wanted.subspan(begin, count));
    };
    PlannedRowsOnTheWay planned(this);
    plan_group(0);
    plan_of(0).fetch_rows();
    plan_group(kGroupOfKeys);
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (i % kGroupOfKeys == 0) {
        plan_of(i + kGroupOfKeys).fetch_rows();
        plan_group(i + 2 * kGroupOfKeys);
        planned.follow(plan_of(i));
      }
      auto values = std::apply(
          [&](const auto&... parts) { return get<Columns...>(index, parts...); }, wanted[i]);
      if (values) {
        visit(i, *values);
      } else if (values.code() != base::ErrorCode::kNotFound) {
        return values.error();
      }
    }
    return {};
  }

  // As get, and claims the row or the groups of the named columns. kConflict if another transaction
  // has claimed them, or has changed them after read_vid().
  template <auto... Columns, auto... KeyMembers, class... KeyValues>
  auto get_for_update(const IndexRef<KeyMembers...>& index, const KeyValues&... key) {
    using Row = typename IndexRef<KeyMembers...>::Row;
    static_assert(sizeof...(KeyValues) == sizeof...(KeyMembers),
                  "get_for_update takes the whole key");
    using Out = base::Result<Claimed<Row, typename Projection<Row, Columns...>::Values>>;
    const base::Result<Found> found = look_up<NoColumns>(index, key...);
    return found ? claim_as<Row, Columns...>(found->handle) : Out(found.error());
  }

  // Claims a row, or the groups of the named columns, by a handle that a scan, find or insert of
  // this transaction returned for Row's table.
  template <class Row, auto... Columns>
  auto claim(const RowHandle& handle) {
    using Out = base::Result<Claimed<Row, typename Projection<Row, Columns...>::Values>>;
    const base::Error* const wrong = check_handle(handle, base::columns_hash<Row>());
    if (wrong != nullptr) return Out(*wrong);
    return claim_as<Row, Columns...>(handle);
  }

  // Writes the named columns of a claimed row. A forbidden write (a column of the primary key or of
  // a group that is not claimed, a string or decimal that does not fit, a row that was erased)
  // fails the transaction, whatever the procedure returns.
  template <class Row, class Values, auto... Members>
  void update(const Claimed<Row, Values>& claimed, const Set<Members>&... cells) {
    static_assert((std::is_same_v<Row, typename base::MemberOf<Members>::Row> && ...),
                  "the columns belong to the claimed row's table");
    static_assert(sizeof...(Members) > 0, "an update names what it changes");
    static constexpr std::array<base::ColumnId, sizeof...(Members)> kColumns = {
        base::kColumn<Members>...};
    static_assert(detail::are_distinct(kColumns), "an update names a column once");
    if (!(detail::keeps_precision(cells.value) && ...)) [[unlikely]] {
      if (check_handle(claimed.handle, base::columns_hash<Row>()) != nullptr) return;
      base::ColumnId column;
      ((detail::keeps_precision(cells.value) || (column = base::kColumn<Members>, true)), ...);
      misuse_of_precision(*claimed.handle.table, column);
      return;
    }
    const WritableRow open = open_row(claimed.handle, kColumns);
    if (open.row == nullptr) return;
    Row* const row = reinterpret_cast<Row*>(open.row);
    ((row->*Members = cells.value), ...);
    if (open.shape != nullptr) close_row(open);
  }

  template <class Row, class Values>
  void erase(const Claimed<Row, Values>& claimed) {
    erase_row(claimed.handle);
  }

  // Inserts a row. kAlreadyExists: a unique key is taken. kConflict: another transaction is writing
  // the same key. kInvalidArgument: a string, a key or the row's long strings in all are too long,
  // or a decimal has too many digits; the transaction has then failed.
  template <class Row>
  base::Result<RowHandle> insert(const TableRef<Row>& table, const Row& row) {
    if (const auto imprecise = detail::imprecise_column(row)) [[unlikely]]
      return misuse_of_precision(table.table, *imprecise);
    return insert_row(table.table, reinterpret_cast<const std::byte*>(&row),
                      base::columns_hash<Row>());
  }

  // Calls visit(const RowHandle&, const Values&) -> ScanStep for each visible row in the range, in
  // key order (ordered index) or in any order (hash index, exact ranges only). It may or may not
  // meet rows that visit inserts or changes. Returns the number of visited rows.
  template <auto... Columns, auto... KeyMembers, class Visit>
  base::Result<uint64_t> scan(const IndexRef<KeyMembers...>& index, const KeyRange& range,
                              const ScanOptions& options, Visit&& visit) {
    using Row = typename IndexRef<KeyMembers...>::Row;
    using Projected = Projection<Row, Columns...>;
    uint64_t visited = 0;
    const auto on_row = [&](const RowHandle& handle, const std::byte* row) {
      ++visited;
      const ScanStep step = visit(handle, Projected::load(row));
      return step == ScanStep::kContinue && visited < options.limit;
    };
    auto done = scan_range(index.index, range, options, Projected::choice(), RowVisitor(on_row),
                           base::columns_hash<Row>());
    return done ? base::Result<uint64_t>(visited) : done.error();
  }

  // The error to return in order to roll back; the caller gets kAborted with the reason.
  base::Error abort(std::string reason) const {
    return {base::ErrorCode::kAborted, std::move(reason)};
  }

 private:
  static constexpr size_t kGroupOfKeys = 16;  // of get_each

  // Finds a row by its whole key. The search is compiled into the procedure if possible.
  template <class Projected, auto... KeyMembers, class... KeyValues>
  base::Result<Found> look_up(const IndexRef<KeyMembers...>& index, const KeyValues&... key) {
    using Ref = IndexRef<KeyMembers...>;
    if constexpr (Ref::kNumberBytes != 0) {
      if (const TableIndex* const compiled =
              compiled_index(index.index, base::columns_hash<typename Ref::Row>())) {
        bool fit = true;
        const typename Ref::Parts parts = detail::as_parts<typename Ref::Parts>(&fit, key...);
        if (!fit) return not_found(*compiled);
        const auto has_key = [&](const std::byte* row) {
          return Ref::has_key(*reinterpret_cast<const typename Ref::Row*>(row), parts);
        };
        if (is_alone()) {
          const Found planned = find_planned(*compiled, has_key);
          if (planned.row != nullptr) return planned;
        }
        const base::Key wanted = detail::make_index_key<Ref>(key...);
        const uint64_t hash = key_hash<Ref::kNumberBytes>(wanted.bytes().data());
        const auto for_words = [](const auto& visit) {
          Projected::for_words(visit);
          (visit(detail::words_of_member<KeyMembers>()), ...);
        };
        const Found found = is_alone() ? find_alone(*compiled, hash, has_key)
                                       : find_shared(*compiled, hash, for_words, has_key);
        if (found.row == nullptr) return not_found(*compiled);
        return found;
      }
    }
    return find_unique(index.index, detail::make_index_key<Ref>(key...), Projected::choice(),
                       base::columns_hash<typename Ref::Row>());
  }

  template <class Row, auto... Columns>
  auto claim_as(const RowHandle& handle) {
    using Projected = Projection<Row, Columns...>;
    using Out = base::Result<Claimed<Row, typename Projected::Values>>;
    auto row = claim_row(handle, Projected::choice().columns);
    if (!row) return Out(row.error());
    return Out(Claimed<Row, typename Projected::Values>{handle, Projected::load(*row)});
  }
};

}  // namespace diptych::oltp
