// Cell precision: checks that decimals that a procedure writes have no more digits than their
// columns, with one comparison for each written decimal of a known cell type. It also checks that
// arguments and replies are values of their types.

#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "base/int128.h"
#include "base/row_binding.h"
#include "base/types.h"

namespace diptych::oltp::detail {

// True if `units` lies in [-most, most]; `most` is below 2^62.
constexpr bool lies_within(int64_t units, uint64_t most) {
  return static_cast<uint64_t>(units) + most <= 2 * most;
}
// [digits]: the units of the largest decimal with this number of digits.
inline constexpr auto kMostUnits = [] {
  std::array<uint64_t, base::kDecimalDigitsMax + 1> most{};
  for (unsigned i = 0; i < most.size(); ++i) {
    most[i] = static_cast<uint64_t>(base::power_of_ten(i)) - 1;
  }
  return most;
}();

template <class Cell>
constexpr bool keeps_precision(const Cell&) {
  return true;
}
template <uint8_t P, uint8_t S>
constexpr bool keeps_precision(const base::Decimal<P, S>& cell) {
  return lies_within(cell.units, kMostUnits[P]);
}
template <uint8_t P, uint8_t S>
constexpr bool keeps_precision(const base::Nullable<base::Decimal<P, S>>& cell) {
  return cell.is_null || keeps_precision(cell.value);
}

// The first column of the row that does not keep its precision.
template <base::Described Row>
std::optional<base::ColumnId> imprecise_column(const Row& row) {
  std::optional<base::ColumnId> found;
  boost::mp11::mp_for_each<base::Members<Row>>([&](auto described) {
    constexpr auto kMember = decltype(described)::pointer;
    if (!keeps_precision(row.*kMember) && !found) [[unlikely]]
      found = base::kColumn<kMember>;
  });
  return found;
}

template <class Cell>
constexpr bool is_of_its_type(const Cell& cell) {
  if constexpr (requires { cell.fits(); }) {
    return cell.fits();
  } else {
    return keeps_precision(cell);
  }
}
template <class Cell>
constexpr bool is_of_its_type(const base::Nullable<Cell>& cell) {
  return cell.is_null || is_of_its_type(cell.value);
}

struct MemberBeyondItsType {
  const char* name = nullptr;
  bool is_string = false;  // else a decimal
};

// The struct's first member that is not a value of its type; its name is nullptr: there is none.
template <class Struct>
MemberBeyondItsType member_beyond_its_type(const Struct& cells) {
  MemberBeyondItsType found;
  if constexpr (base::Described<Struct>) {
    boost::mp11::mp_for_each<base::Members<Struct>>([&](auto described) {
      using Member = decltype(described);
      using Cell = typename base::MemberOf<Member::pointer>::Cell;
      if constexpr (base::detail::kIsCell<Cell>) {
        if (!is_of_its_type(cells.*Member::pointer) && found.name == nullptr) [[unlikely]]
          found = {Member::name, base::CellTraits<Cell>::kType.is_string()};
      }
    });
  }
  return found;
}

}  // namespace diptych::oltp::detail
