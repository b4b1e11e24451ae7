// Typed references to tables and indexes, which procedures use.
//
//   struct Tables {
//     TableRef<District> district;
//     IndexRef<&District::d_w_id, &District::d_id> district_pkey;
//   };
//
// bind_table and bind_index check the struct against the schema once; a ref is then a plain id,
// valid as long as the database is open. A ref made without them is unbound: operations with it
// fail, and access plans ignore it. A ref of another database fails if it names a table of another
// struct there.

#pragma once

#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "base/key.h"
#include "base/row_binding.h"
#include "base/schema.h"
#include "oltp/key_parts.h"

namespace diptych::oltp {

inline constexpr base::TableId kUnboundTable{~uint32_t{0}};
inline constexpr base::IndexId kUnboundIndex{~uint32_t{0}};

template <base::Described RowType>
struct TableRef {
  using Row = RowType;
  base::TableId table = kUnboundTable;
};

namespace detail {
// Cells whose equality is that of their keys, so that they can be compared without making a key.
template <class Cell>
inline constexpr bool kIsNumber =
    std::is_same_v<Cell, int32_t> || std::is_same_v<Cell, int64_t> ||
    std::is_same_v<Cell, base::Date> || std::is_same_v<Cell, base::Timestamp>;
template <uint8_t P, uint8_t S>
inline constexpr bool kIsNumber<base::Decimal<P, S>> = true;
}  // namespace detail

// IndexRef: its arguments are the members of the row struct that form the key, in key order.
template <auto First, auto... Rest>
struct IndexRef {
  using Row = typename base::MemberOf<First>::Row;
  static_assert((std::is_same_v<Row, typename base::MemberOf<Rest>::Row> && ...),
                "all key members belong to one row struct");
  static constexpr size_t kParts = 1 + sizeof...(Rest);
  using Parts =
      std::tuple<typename base::MemberOf<First>::Cell, typename base::MemberOf<Rest>::Cell...>;

  static constexpr bool kAreNumbers =
      (detail::kIsNumber<typename base::MemberOf<First>::Cell> && ... &&
       detail::kIsNumber<typename base::MemberOf<Rest>::Cell>);
  static constexpr size_t kPartBytes = (sizeof(typename base::MemberOf<First>::Cell) + ... +
                                        sizeof(typename base::MemberOf<Rest>::Cell));
  // The size of the whole key if all of its parts are numbers and it does not exceed the limit of
  // keys; otherwise 0.
  static constexpr size_t kNumberBytes =
      kAreNumbers && kPartBytes <= base::kKeyBytesMax ? kPartBytes : 0;

  // True if the parts make the row's key.
  static bool has_key(const Row& row, const Parts& parts) {
    return has_parts(row, parts, std::make_index_sequence<kParts>());
  }

  base::IndexId index = kUnboundIndex;

 private:
  template <size_t... kPart>
  static bool has_parts(const Row& row, const Parts& parts, std::index_sequence<kPart...>) {
    constexpr std::tuple kMembers(First, Rest...);
    return ((row.*std::get<kPart>(kMembers) == std::get<kPart>(parts)) && ...);
  }
};

// The keys from `lower` (inclusive) to `upper` (exclusive; empty: no upper bound).
struct KeyRange {
  base::Key lower;
  base::Key upper;
  bool exact = false;  // lower is a whole key: on a hash index only such ranges can be scanned
};

namespace detail {
template <class Index, class... Values>
base::Key make_index_key(const Values&... values) {
  static_assert(sizeof...(Values) <= Index::kParts, "more values than the index has parts");
  base::Key key;
  bool fit = true;
  std::apply([&](const auto&... parts) { (key.append(parts), ...); },
             as_parts<typename Index::Parts>(&fit, values...));
  if (!fit) key.set_unfit();
  return key;
}
}  // namespace detail

// All keys whose first parts equal the values.
template <auto... KeyMembers, class... Values>
KeyRange prefix(const IndexRef<KeyMembers...>&, const Values&... values) {
  KeyRange range;
  range.lower = detail::make_index_key<IndexRef<KeyMembers...>>(values...);
  range.upper = range.lower.prefix_end();
  range.exact = sizeof...(Values) == sizeof...(KeyMembers);
  return range;
}

// All keys from `first` to `last`, including the keys that begin with either. Both are std::tuples
// of the index's first parts: between(i, std::tuple(1, 5), std::tuple(1, 9)).
template <auto... KeyMembers, class... First, class... Last>
KeyRange between(const IndexRef<KeyMembers...>&, const std::tuple<First...>& first,
                 const std::tuple<Last...>& last) {
  const auto key = [](const auto&... values) {
    return detail::make_index_key<IndexRef<KeyMembers...>>(values...);
  };
  KeyRange range;
  range.lower = std::apply(key, first);
  range.upper = std::apply(key, last).prefix_end();
  return range;
}

namespace detail {
// Fails with kNotFound if no table has this name.
base::Result<const base::TableSchema*> table_named(const base::Catalog& catalog,
                                                   std::string_view name);
struct NamedIndex {
  const base::TableSchema* table;
  const base::IndexSchema* index;
};
base::Result<NamedIndex> index_named(const base::Catalog& catalog, std::string_view name);
// Fails with kInvalidArgument, naming both, if the index has other columns.
base::Result<void> check_columns(const NamedIndex& found, std::span<const base::ColumnId> columns);
}  // namespace detail

template <base::Described Row>
base::Result<TableRef<Row>> bind_table(const base::Catalog& catalog, std::string_view name) {
  const auto table = detail::table_named(catalog, name);
  if (!table) return table.error();
  if (auto bound = base::check_binding<Row>(**table); !bound) return bound.error();
  return TableRef<Row>{(*table)->id};
}

// `name` is the index's name; the primary key's index is "<table>_pkey".
template <auto... KeyMembers>
base::Result<IndexRef<KeyMembers...>> bind_index(const base::Catalog& catalog,
                                                 std::string_view name) {
  using Row = typename IndexRef<KeyMembers...>::Row;
  const auto found = detail::index_named(catalog, name);
  if (!found) return found.error();
  if (auto bound = base::check_binding<Row>(*found->table); !bound) return bound.error();
  const base::ColumnId columns[] = {base::kColumn<KeyMembers>...};
  if (auto same = detail::check_columns(*found, columns); !same) return same.error();
  return IndexRef<KeyMembers...>{found->index->id};
}

}  // namespace diptych::oltp
