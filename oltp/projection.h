// Projection: the columns of a row type that a read needs, known to the compiler. It gives their
// column ids, for reads by layout, their words in a slot, and the type of the loaded values.

#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "base/ids.h"
#include "base/row_binding.h"
#include "oltp/row_reader.h"
#include "oltp/row_version.h"

namespace diptych::oltp {

namespace detail {
template <auto Member>
WordSpan words_of_member() {
  return words_of(static_cast<uint32_t>(std::bit_cast<ptrdiff_t>(Member)),
                  sizeof(typename base::MemberOf<Member>::Cell));
}
}  // namespace detail

// The result of a read of these columns: the whole row, one cell, or a tuple of cells.
template <class Row, auto... Columns>
struct Projection {
  using Values = std::tuple<typename base::MemberOf<Columns>::Cell...>;
  static constexpr base::ColumnId kColumns[] = {base::kColumn<Columns>...};
  static ColumnChoice choice() { return {false, kColumns}; }
  template <class Visit>
  static void for_words(const Visit& visit) {
    (visit(detail::words_of_member<Columns>()), ...);
  }
  static Values load(const std::byte* row) {
    const Row& typed = *reinterpret_cast<const Row*>(row);
    return {typed.*Columns...};
  }
};
template <class Row>
struct Projection<Row> {
  using Values = Row;
  static ColumnChoice choice() { return {}; }
  template <class Visit>
  static void for_words(const Visit& visit) {
    visit(words_of(0, sizeof(Row)));
  }
  static Values load(const std::byte* row) { return *reinterpret_cast<const Row*>(row); }
};
template <class Row, auto Column>
struct Projection<Row, Column> {
  using Values = typename base::MemberOf<Column>::Cell;
  static constexpr base::ColumnId kColumns[] = {base::kColumn<Column>};
  static ColumnChoice choice() { return {false, kColumns}; }
  template <class Visit>
  static void for_words(const Visit& visit) {
    visit(detail::words_of_member<Column>());
  }
  static Values load(const std::byte* row) { return reinterpret_cast<const Row*>(row)->*Column; }
};
// The projection for a row that will be claimed, and is read at the claim.
struct NoColumns {
  static ColumnChoice choice() { return {false, {}, {}}; }
  template <class Visit>
  static void for_words(const Visit&) {}
};

}  // namespace diptych::oltp
