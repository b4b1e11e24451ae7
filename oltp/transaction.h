// Transaction: what a stored procedure reads and writes through.
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
// Reads name the columns they want (none named: the whole row), writes the columns they change.
// An error that a read or write returns is either for the procedure to handle (kNotFound,
// kAlreadyExists) or means that the transaction cannot commit (kConflict): return it. After a
// conflict every further operation fails with it, and the engine runs the procedure again. What a
// procedure must not do (kInvalidArgument) costs it the transaction, too, and names the procedure.
//
// Limits     an operation, and each row that a scan looks at, counts; one that does more than
//            EngineOptions::operations_max fails. So does one that misuses a handle (below).
// Isolation  snapshot: reads see the state at read_vid() and the transaction's own writes; the
//            first to claim a row wins, a later writer gets kConflict, as does a claim of a row
//            that was changed after read_vid(). In a table with column groups the same holds of
//            each group of the row, and a claim is of the groups of the columns that it names
//            (none named: all); erase claims the rest. Serializable: besides, a transaction that
//            changes something runs again if what it read has changed when it commits (read_set.h).
// Strings    a long string in a row or tuple that was read points into the database, until the
//            procedure returns. Long strings that are written are copied at the call.
// Threads    one: the worker that runs the procedure.
// Cost       a read copies the named cells; get_for_update claims with one compare-and-swap.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/ids.h"
#include "base/result.h"
#include "base/row_binding.h"
#include "base/types.h"
#include "oltp/cell_precision.h"
#include "oltp/projection.h"
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

template <auto Member>
struct Set {
  typename base::MemberOf<Member>::Cell value;
};

// set<&District::d_ytd>(amount): a column and its new value, for Transaction::update.
template <auto Member>
Set<Member> set(const typename base::MemberOf<Member>::Cell& value) {
  return {value};
}

// A row that was read, and where it is: to claim columns of it.
template <class RowType, class ValuesType>
struct FoundRow {
  using Row = RowType;
  RowHandle handle;
  ValuesType values;
};

// A row, or the claimed column groups of one, that this transaction alone may write until it ends.
template <class RowType, class ValuesType>
struct Claimed {
  using Row = RowType;
  RowHandle handle;
  ValuesType values;  // as read when it was claimed
};

enum class ScanStep : uint8_t { kContinue, kStop };

class Transaction : public TransactionCore {
 public:
  using TransactionCore::TransactionCore;

  // The row of a unique index whose key equals the values (all parts). kNotFound, kConflict.
  template <auto... Columns, auto... KeyMembers, class... KeyValues>
  auto get(const IndexRef<KeyMembers...>& index, const KeyValues&... key) {
    using Row = typename IndexRef<KeyMembers...>::Row;
    using Projected = Projection<Row, Columns...>;
    static_assert(sizeof...(KeyValues) == sizeof...(KeyMembers), "get takes the whole key");
    using Out = base::Result<typename Projected::Values>;
    const base::Result<Found> found = look_up<Projected>(index, key...);
    return found ? Out(Projected::load(found->row)) : Out(found.error());
  }

  // As get, with the row's handle. What is read may be of other column groups than what is claimed:
  //   auto found = txn.find<&District::d_name>(tables.district_pkey, args.w, args.d);
  //   auto claimed = txn.claim<District, &District::d_ytd>(found->handle);
  template <auto... Columns, auto... KeyMembers, class... KeyValues>
  auto find(const IndexRef<KeyMembers...>& index, const KeyValues&... key) {
    using Row = typename IndexRef<KeyMembers...>::Row;
    using Projected = Projection<Row, Columns...>;
    static_assert(sizeof...(KeyValues) == sizeof...(KeyMembers), "find takes the whole key");
    using Read = FoundRow<Row, typename Projected::Values>;
    const base::Result<Found> found = look_up<Projected>(index, key...);
    if (!found) return base::Result<Read>(found.error());
    return base::Result<Read>(Read{found->handle, Projected::load(found->row)});
  }

  // As get of each of the keys, whose misses overlap: calls visit(i, values) for those that have a
  // row. Keys are std::tuples of the index's parts.
  template <auto... Columns, auto... KeyMembers, class Visit>
  base::Result<void> get_each(const IndexRef<KeyMembers...>& index,
                              std::span<const typename IndexRef<KeyMembers...>::Parts> wanted,
                              Visit&& visit) {
    // While the rows of a group are read, those of the next one come, and the buckets of another.
    AccessPlan plans[] = {make_plan(), make_plan(), make_plan()};
    const auto plan_of = [&](size_t first) -> AccessPlan& {
      return plans[first / kGroupOfKeys % std::size(plans)];
    };
    const auto plan_group = [&](size_t first) {
      AccessPlan& plan = plan_of(first);
      plan.clear();
      for (size_t i = first; i < std::min(first + kGroupOfKeys, wanted.size()); ++i) {
        std::apply([&](const auto&... parts) { plan.row<Columns...>(index, parts...); }, wanted[i]);
      }
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

  // As get, and claims the row, or the named columns' groups: kConflict if another transaction has
  // claimed it, or changed it after read_vid().
  template <auto... Columns, auto... KeyMembers, class... KeyValues>
  auto get_for_update(const IndexRef<KeyMembers...>& index, const KeyValues&... key) {
    using Row = typename IndexRef<KeyMembers...>::Row;
    static_assert(sizeof...(KeyValues) == sizeof...(KeyMembers), "get takes the whole key");
    using Out = base::Result<Claimed<Row, typename Projection<Row, Columns...>::Values>>;
    const base::Result<Found> found = look_up<NoColumns>(index, key...);
    return found ? claim_as<Row, Columns...>(found->handle) : Out(found.error());
  }

  // Claims a row, or the named columns' groups, that a scan, find or an insert gave out: in this
  // transaction, and of Row's table.
  template <class Row, auto... Columns>
  auto claim(const RowHandle& handle) {
    using Out = base::Result<Claimed<Row, typename Projection<Row, Columns...>::Values>>;
    const base::Error* const wrong = check_handle(handle, base::columns_hash<Row>());
    if (wrong != nullptr) return Out(*wrong);
    return claim_as<Row, Columns...>(handle);
  }

  // Writes the named columns of a claimed row. What must not be written (a column of the primary
  // key or of a group that is not claimed, a string or a decimal that does not fit, a row that was
  // erased) fails the transaction, whatever the procedure returns.
  template <class Row, class Values, auto... Members>
  void update(const Claimed<Row, Values>& claimed, const Set<Members>&... cells) {
    static_assert((std::is_same_v<Row, typename base::MemberOf<Members>::Row> && ...),
                  "the columns belong to the claimed row's table");
    static_assert(sizeof...(Members) > 0, "an update names what it changes");
    static constexpr std::array<base::ColumnId, sizeof...(Members)> kColumns = {
        base::kColumn<Members>...};
    static_assert(detail::are_distinct(kColumns), "an update names a column once");
    if (!(detail::keeps_precision(cells.value) && ...)) [[unlikely]] {
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

  // kAlreadyExists: a unique key is taken. kConflict: another transaction is writing the same key.
  // kInvalidArgument, and the transaction has failed: a string is longer than its column, a key
  // than a key may be, or the row's long strings than it may have; a decimal has too many digits.
  template <class Row>
  base::Result<RowHandle> insert(const TableRef<Row>& table, const Row& row) {
    const std::optional<base::ColumnId> imprecise = detail::imprecise_column(row);
    if (imprecise) [[unlikely]]
      return misuse_of_precision(table.table, *imprecise);
    return insert_row(table.table, reinterpret_cast<const std::byte*>(&row),
                      base::columns_hash<Row>());
  }

  // Calls visit(const RowHandle&, const Values&) -> ScanStep for each visible row in the range, in
  // key order (ordered index) or in any order (hash index, exact ranges only). The rows that visit
  // inserts or changes may or may not be met. Returns how many were visited.
  template <auto... Columns, auto... KeyMembers, class Visit>
  base::Result<uint64_t> scan(const IndexRef<KeyMembers...>& index, const KeyRange& range,
                              const ScanOptions& options, Visit&& visit) {
    using Projected = Projection<typename IndexRef<KeyMembers...>::Row, Columns...>;
    uint64_t visited = 0;
    if (options.limit == 0) return visited;
    const auto on_row = [&](const RowHandle& handle, const std::byte* row) {
      ++visited;
      const ScanStep step = visit(handle, Projected::load(row));
      return step == ScanStep::kContinue && visited < options.limit;
    };
    auto done = scan_range(index.index, range, options, Projected::choice(), RowVisitor(on_row));
    if (!done) return done.error();
    return visited;
  }

  // Rolls back; the caller of the procedure gets kAborted with the reason.
  base::Error abort(std::string reason) const {
    return {base::ErrorCode::kAborted, std::move(reason)};
  }

 private:
  static constexpr size_t kGroupOfKeys = 16;  // of get_each

  // The row by its whole key: compiled into the procedure where that can be.
  template <class Projected, auto... KeyMembers, class... KeyValues>
  base::Result<Found> look_up(const IndexRef<KeyMembers...>& index, const KeyValues&... key) {
    using Ref = IndexRef<KeyMembers...>;
    if constexpr (Ref::kNumberBytes != 0) {
      if (const TableIndex* const compiled = compiled_index(index.index)) {
        bool fit = true;
        const typename Ref::Parts parts = detail::as_parts<typename Ref::Parts>(&fit, key...);
        if (!fit) return base::ErrorCode::kNotFound;
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
        if (found.row == nullptr) return base::ErrorCode::kNotFound;
        return found;
      }
    }
    return find_unique(index.index, detail::make_index_key<Ref>(key...), Projected::choice());
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
