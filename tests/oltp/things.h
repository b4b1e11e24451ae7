// A table of things, which has what a bank lacks: nulls and long strings in indexed columns, and
// columns of every index that change. And a thing as a model has it.

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/row_binding.h"
#include "base/types.h"
#include "oltp/transaction.h"

namespace diptych::oltp::test {

using base::Nullable;

struct Thing {
  int64_t id;
  int32_t code;
  base::Varchar<12> label;
  Nullable<int32_t> grade;
  Nullable<base::Varchar<100>> tag;
  int64_t amount;
  Nullable<base::Text> memo;
  Nullable<int64_t> extra;
};
BOOST_DESCRIBE_STRUCT(Thing, (), (id, code, label, grade, tag, amount, memo, extra))

struct ThingModel {
  int64_t id;
  int32_t code;
  std::string label;
  std::optional<int32_t> grade;
  std::optional<std::string> tag;
  int64_t amount;
  std::optional<std::string> memo;
  std::optional<int64_t> extra;
  bool operator==(const ThingModel&) const = default;
};
using Things = std::map<int64_t, ThingModel>;

template <class Cell, class Out>
std::optional<Out> text_or_null(const Nullable<Cell>& cell) {
  return cell.is_null ? std::nullopt : std::optional<Out>(cell.value.view());
}
template <class Cell>
std::optional<Cell> number_or_null(const Nullable<Cell>& cell) {
  return cell.is_null ? std::nullopt : std::optional<Cell>(cell.value);
}
inline ThingModel model_of(const Thing& row) {
  return {row.id,
          row.code,
          std::string(row.label.view()),
          number_or_null(row.grade),
          text_or_null<base::Varchar<100>, std::string>(row.tag),
          row.amount,
          text_or_null<base::Text, std::string>(row.memo),
          number_or_null(row.extra)};
}
template <class Cell>
Nullable<Cell> cell_of(const std::optional<std::string>& text) {
  return text ? Nullable<Cell>(Cell(std::string_view(*text))) : Nullable<Cell>();
}
template <class Cell>
Nullable<Cell> number_cell(const std::optional<Cell>& number) {
  return number ? Nullable<Cell>(*number) : Nullable<Cell>();
}
inline Thing row_of(const ThingModel& model) {
  return {model.id,
          model.code,
          std::string_view(model.label),
          number_cell(model.grade),
          cell_of<base::Varchar<100>>(model.tag),
          model.amount,
          cell_of<base::Text>(model.memo),
          number_cell(model.extra)};
}

// Nulls last, as in keys.
template <class Part>
bool sorts_before(const std::optional<Part>& a, const std::optional<Part>& b) {
  if (!a || !b) return a.has_value() && !b.has_value();
  return *a < *b;
}
inline bool by_grade(const ThingModel& a, const ThingModel& b) {
  if (a.grade != b.grade) return sorts_before(a.grade, b.grade);
  return sorts_before(a.tag, b.tag);
}

// What a procedure draws: few values, so that they meet.
inline uint64_t below(Transaction& txn, uint64_t bound) {
  return txn.random() % bound;
}
inline int64_t some_id(Transaction& txn) {
  return static_cast<int64_t>(below(txn, 20));
}
inline int32_t some_code(Transaction& txn) {
  return static_cast<int32_t>(below(txn, 26));
}
inline std::string some_label(Transaction& txn) {
  const uint64_t which = below(txn, 26);
  return std::string(which % 13, static_cast<char>(which / 13));  // also empty, and zeroes
}
inline std::optional<int32_t> some_grade(Transaction& txn) {
  const uint64_t which = below(txn, 5);
  return which == 0 ? std::nullopt : std::optional(static_cast<int32_t>(which) - 2);
}
inline std::optional<std::string> some_tag(Transaction& txn) {
  static const std::string kTags[] = {"",
                                      std::string(1, '\0'),
                                      "a",
                                      std::string("a\0", 2),
                                      "aa",
                                      "\xff",
                                      std::string(100, '\0'),
                                      std::string(100, 'z'),
                                      std::string(99, 'z')};
  const uint64_t which = below(txn, std::size(kTags) + 2);
  return which < std::size(kTags) ? std::optional(kTags[which]) : std::nullopt;
}
inline std::optional<std::string> some_memo(Transaction& txn) {
  const uint64_t which = below(txn, 6);
  if (which == 0) return std::nullopt;
  if (which == 1) return "";
  return std::string(below(txn, which == 2 ? 5000 : 70), static_cast<char>('a' + which));
}
inline ThingModel some_thing(Transaction& txn, int64_t id) {
  return {id,
          some_code(txn),
          some_label(txn),
          some_grade(txn),
          some_tag(txn),
          static_cast<int64_t>(below(txn, 5)),
          some_memo(txn),
          below(txn, 2) == 0 ? std::nullopt : std::optional(static_cast<int64_t>(below(txn, 9)))};
}

// What a run sees, and which rows it has written: bits of column groups, or kRow.
inline constexpr uint32_t kKeys = 1;  // group 0: what indexes have
inline constexpr uint32_t kAmountAndMemo = 2;
inline constexpr uint32_t kExtra = 4;
inline constexpr uint32_t kRow = 8;
struct Shadow {
  Things before;
  Things now;
  std::map<int64_t, uint32_t> written;

  bool has_other(int64_t id, const std::function<bool(const ThingModel&)>& is_it) const {
    return std::any_of(now.begin(), now.end(),
                       [&](const auto& row) { return row.first != id && is_it(row.second); });
  }
};

// Of these column groups.
inline void put(const ThingModel& from, uint32_t groups, ThingModel* to) {
  ThingModel row = from;
  if ((groups & kAmountAndMemo) == 0) {
    row.amount = to->amount;
    row.memo = to->memo;
  }
  if ((groups & kExtra) == 0) row.extra = to->extra;
  if ((groups & kKeys) == 0) {
    const ThingModel rest = row;
    row = *to;
    row.amount = rest.amount;
    row.memo = rest.memo;
    row.extra = rest.extra;
  }
  *to = row;
}

}  // namespace diptych::oltp::test
