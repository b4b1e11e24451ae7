// Row binding: a C++ struct as the row of a table, by reflection (Boost.Describe).
//
//   struct District {
//     int32_t d_id; int32_t d_w_id; Varchar<10> d_name; Decimal<12, 2> d_ytd; int32_t d_next_o_id;
//   };
//   BOOST_DESCRIBE_STRUCT(District, (), (d_id, d_w_id, d_name, d_ytd, d_next_o_id))
//
// check_binding<District>(schema) compares names, types, nullability and order with the table;
// after it has passed, the struct's bytes are the table's row bytes (base/row_layout.h).

#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <boost/describe.hpp>
#include <boost/mp11.hpp>

#include "base/hash.h"
#include "base/result.h"
#include "base/row_layout.h"
#include "base/schema.h"

namespace diptych::base {

template <class Row>
concept Described = boost::describe::has_describe_members<Row>::value;

template <Described Row>
using Members = boost::describe::describe_members<Row, boost::describe::mod_public>;

template <auto Member>
struct MemberOf;
template <class RowType, class CellType, CellType RowType::*Member>
struct MemberOf<Member> {
  using Row = RowType;
  using Cell = CellType;
};

namespace detail {
template <class Cell>
inline constexpr bool kIsCell = requires { sizeof(CellTraits<Cell>); };
template <class Cell>
inline constexpr bool kIsCell<Nullable<Cell>> = kIsCell<Cell>;
}  // namespace detail

// True if the struct is described, and each of its members is a cell (base/types.h).
template <class Struct>
consteval bool consists_of_cells() {
  if constexpr (Described<Struct>) {
    bool all = true;
    boost::mp11::mp_for_each<Members<Struct>>([&](auto described) {
      all = all && detail::kIsCell<typename MemberOf<decltype(described)::pointer>::Cell>;
    });
    return all;
  } else {
    return false;
  }
}

// column_of<&District::d_ytd>: the position of a member in its row struct, from 0.
template <auto Member>
consteval uint16_t column_of() {
  using Row = typename MemberOf<Member>::Row;
  uint16_t position = 0;
  uint16_t found = UINT16_MAX;
  boost::mp11::mp_for_each<Members<Row>>([&](auto described) {
    if constexpr (std::is_same_v<std::remove_cv_t<decltype(described.pointer)>,
                                 std::remove_cv_t<decltype(Member)>>) {
      if (described.pointer == Member) found = position;
    }
    ++position;
  });
  // Reached by the compiler only, which then stops here.
  if (found == UINT16_MAX) throw "the member is missing in BOOST_DESCRIBE_STRUCT";
  return found;
}

template <auto Member>
inline constexpr ColumnId kColumn{column_of<Member>()};

// Of the members' or columns' names and types, in their order: what tells structs of different
// tables apart where only a number can be compared.
class ColumnsHash {
 public:
  constexpr void add(std::string_view name, const DataType& type, bool nullable) {
    for (const char c : name) hash_.add(static_cast<unsigned char>(c));
    hash_.add(0);  // ends the name
    hash_.add(static_cast<uint64_t>(type.kind));
    hash_.add(type.precision);
    hash_.add(type.scale);
    hash_.add(type.length);
    hash_.add(nullable ? 1 : 0);
  }
  constexpr uint64_t value() const { return hash_.value(); }

 private:
  Fnv1a hash_;
};
template <Described Row>
consteval uint64_t columns_hash() {
  ColumnsHash hash;
  boost::mp11::mp_for_each<Members<Row>>([&](auto described) {
    using Cell = typename MemberOf<decltype(described)::pointer>::Cell;
    hash.add(described.name, CellTraits<Cell>::kType, CellTraits<Cell>::kNullable);
  });
  return hash.value();
}
inline uint64_t columns_hash(const TableSchema& schema) {
  ColumnsHash hash;
  for (const ColumnSchema& column : schema.columns) {
    hash.add(column.name, column.type, column.nullability == Nullability::kNullable);
  }
  return hash.value();
}

// One column of a bound struct, as the compiler lays it out.
struct BoundColumn {
  std::string name;
  DataType type;
  Nullability nullability;
  uint32_t offset;
};

// As of the struct that has them.
inline uint64_t columns_hash(const std::vector<BoundColumn>& columns) {
  ColumnsHash hash;
  for (const BoundColumn& column : columns) {
    hash.add(column.name, column.type, column.nullability == Nullability::kNullable);
  }
  return hash.value();
}

template <Described Row>
std::vector<BoundColumn> bound_columns() {
  static_assert(consists_of_cells<Row>(),
                "a row's members are cells: int32_t, int64_t, double, bool, or a type of "
                "base/types.h (Decimal, Date, Timestamp, Char, Varchar, Text, Nullable of these)");
  static_assert(std::is_trivially_copyable_v<Row>, "a row is moved as bytes");
  std::vector<BoundColumn> columns;
  alignas(Row) static const std::byte storage[sizeof(Row)] = {};
  const Row* row = reinterpret_cast<const Row*>(storage);
  boost::mp11::mp_for_each<Members<Row>>([&](auto described) {
    using Cell = std::remove_cvref_t<decltype(row->*described.pointer)>;
    const auto* cell = reinterpret_cast<const std::byte*>(&(row->*described.pointer));
    columns.push_back({described.name, CellTraits<Cell>::kType,
                       CellTraits<Cell>::kNullable ? Nullability::kNullable : Nullability::kNotNull,
                       static_cast<uint32_t>(cell - storage)});
  });
  return columns;
}

// Fails with kInvalidArgument, naming the first difference between struct and table.
Result<void> check_columns(const std::vector<BoundColumn>& columns, size_t row_bytes,
                           const TableSchema& schema);

template <Described Row>
Result<void> check_binding(const TableSchema& schema) {
  return check_columns(bound_columns<Row>(), sizeof(Row), schema);
}

}  // namespace diptych::base
