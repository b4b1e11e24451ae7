#include "olap/execution/scan/column_predicate.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "olap/execution/vector/column_range.h"
#include "olap/execution/vector/utf8_text.h"
#include "olap/execution/vector/vector.h"

namespace diptych::olap {

namespace {

using storage::encoding::Comparison;
using storage::encoding::Predicate;
using Kind = ExpressionKind;
using Found = std::optional<ColumnPredicate>;

// Of what is true, or, of NOT, of what is false.
enum class Asked : uint8_t { kTrue, kFalse };

Found answered(const Expression& column, Predicate passes, Asked asked) {
  return ColumnPredicate{column.column, asked == Asked::kTrue ? passes : passes.complement()};
}

std::optional<Comparison> comparison_of(Kind kind, bool mirrored) {
  switch (kind) {
    case Kind::kEqual: return Comparison::kEqual;
    case Kind::kNotEqual: return Comparison::kNotEqual;
    case Kind::kLess: return mirrored ? Comparison::kGreater : Comparison::kLess;
    case Kind::kLessEqual: return mirrored ? Comparison::kGreaterEqual : Comparison::kLessEqual;
    case Kind::kGreater: return mirrored ? Comparison::kLess : Comparison::kGreater;
    case Kind::kGreaterEqual: return mirrored ? Comparison::kLessEqual : Comparison::kGreaterEqual;
    default: return std::nullopt;
  }
}

// A text column's first characters, at least one: substring(column, 1, n), left(column, n).
struct FirstCharacters {
  const Expression* column;
  int64_t count;
};

std::optional<FirstCharacters> first_characters(const Expression& call) {
  if (call.kind != Kind::kFunction) return std::nullopt;
  const bool is_substring = call.function == Function::kSubstring && call.children.size() == 3;
  if (!is_substring && call.function != Function::kLeft) return std::nullopt;
  const Expression& column = *call.children[0];
  if (column.kind != Kind::kColumn) return std::nullopt;
  const auto integer = [&](size_t child) -> std::optional<int64_t> {
    const Expression& value = *call.children[child];
    return value.kind == Kind::kLiteral ? integer_of(value.literal) : std::nullopt;
  };
  if (is_substring && integer(1) != 1) return std::nullopt;
  const std::optional<int64_t> count = integer(is_substring ? 2 : 1);
  if (count.value_or(0) < 1) return std::nullopt;
  return FirstCharacters{&column, *count};
}

// The texts whose first `count` characters are the constant. Of ASCII alone, which is so whatever
// bytes come behind.
std::optional<Predicate> begins_with(int64_t count, const base::Value& constant) {
  const auto* const text = std::get_if<std::string>(&constant);
  if (text == nullptr || !is_ascii(*text)) return std::nullopt;
  const auto length = static_cast<int64_t>(text->size());
  if (length > count) return Predicate::in(std::span<const std::string_view>());
  return length == count ? Predicate::prefix(*text)
                         : Predicate::compare(Comparison::kEqual, std::string_view(*text));
}

// of(constant), if the value is one that a column of this type compares with.
template <class Of>
std::optional<Predicate> with_constant(const base::DataType& type, const base::Value& value,
                                       const Of& of) {
  switch (physical_type(type)) {
    case PhysicalType::kInt32:
    case PhysicalType::kInt64:
      if (const std::optional<int64_t> integer = integer_of(value)) return of(*integer);
      return std::nullopt;
    case PhysicalType::kDouble:
      if (const auto* const number = std::get_if<double>(&value)) return of(*number);
      return std::nullopt;
    case PhysicalType::kBool:
      if (const auto* const boolean = std::get_if<bool>(&value)) return of(int64_t{*boolean});
      return std::nullopt;
    case PhysicalType::kString:
      if (const auto* const text = std::get_if<std::string>(&value)) {
        return of(std::string_view(*text));
      }
      return std::nullopt;
    case PhysicalType::kInterval:
    case PhysicalType::kInt128: break;
  }
  return std::nullopt;
}

Asked opposite(Asked asked) {
  return asked == Asked::kTrue ? Asked::kFalse : Asked::kTrue;
}

Found of_comparison(const Expression& condition, Asked asked) {
  if (condition.children.size() != 2) return std::nullopt;
  const bool mirrored = condition.children[0]->kind == Kind::kLiteral;
  const Expression& compared = *condition.children[mirrored ? 1 : 0];
  const Expression& literal = *condition.children[mirrored ? 0 : 1];
  if (const auto first = first_characters(compared)) {
    const bool equal = condition.kind == Kind::kEqual;
    if ((!equal && condition.kind != Kind::kNotEqual) || literal.kind != Kind::kLiteral) {
      return std::nullopt;
    }
    auto passes = begins_with(first->count, literal.literal);
    if (!passes) return std::nullopt;
    return answered(*first->column, std::move(*passes), equal ? asked : opposite(asked));
  }
  const Expression* const column = column_of(compared);
  const std::optional<Comparison> comparison = comparison_of(condition.kind, mirrored);
  if (column == nullptr || literal.kind != Kind::kLiteral || !comparison) return std::nullopt;
  auto passes = with_constant(column->type, literal.literal, [&](auto constant) {
    return Predicate::compare(*comparison, constant);
  });
  if (!passes) return std::nullopt;
  return answered(*column, std::move(*passes), asked);
}

Found of_list(const Expression& condition, Asked asked) {
  const std::optional<FirstCharacters> first = first_characters(*condition.children[0]);
  const Expression* const column =
      first.has_value() ? first->column : column_of(*condition.children[0]);
  if (column == nullptr) return std::nullopt;
  std::vector<Predicate> equals;
  equals.reserve(condition.children.size());
  bool has_null = false;
  for (size_t i = 1; i < condition.children.size(); ++i) {
    const base::Value& value = condition.children[i]->literal;
    if (base::is_null(value)) {
      has_null = true;
      continue;
    }
    auto equal = first.has_value() ? begins_with(first->count, value)
                                   : with_constant(column->type, value, [](auto constant) {
                                       return Predicate::compare(Comparison::kEqual, constant);
                                     });
    if (!equal) return std::nullopt;
    equals.push_back(std::move(*equal));
  }
  if (equals.empty()) return std::nullopt;
  auto passes = Predicate::any_of(equals);
  if (!passes) return std::nullopt;
  // With a null in the list, NOT IN is never true: nothing is both equal and not.
  if (has_null && asked == Asked::kFalse) {
    const std::array both{*passes, passes->complement()};
    return ColumnPredicate{column->column, *Predicate::all_of(both)};
  }
  return answered(*column, std::move(*passes), asked);
}

// The pattern without its one %, at one end at most; nothing where it has anything else to it.
Found of_like(const Expression& condition, Asked asked) {
  const Expression& column = *condition.children[0];
  const Expression& literal = *condition.children[1];
  if (column.kind != Kind::kColumn || literal.kind != Kind::kLiteral) return std::nullopt;
  const auto* const pattern = std::get_if<std::string>(&literal.literal);
  if (pattern == nullptr || physical_type(column.type) != PhysicalType::kString) {
    return std::nullopt;
  }
  std::string_view text = *pattern;
  const size_t special = text.find_first_of("%_\\");
  if (special == std::string_view::npos) {
    return answered(column, Predicate::compare(Comparison::kEqual, text), asked);
  }
  if (text[special] != '%') return std::nullopt;
  if (special + 1 == text.size()) {
    return answered(column, Predicate::prefix(text.substr(0, special)), asked);
  }
  text.remove_prefix(1);
  if (special != 0 || text.find_first_of("%_\\") != std::string_view::npos) return std::nullopt;
  return answered(column, Predicate::suffix(text), asked);
}

Found found_in(const Expression& condition, Asked asked);

Found of_connective(const Expression& condition, Asked asked) {
  const bool is_and = (condition.kind == Kind::kAnd) == (asked == Asked::kTrue);
  std::optional<uint32_t> column;
  std::vector<Predicate> parts;
  for (const ExpressionPtr& child : condition.children) {
    Found next = found_in(*child, asked);
    if (!next || column.value_or(next->column) != next->column) return std::nullopt;
    column = next->column;
    parts.push_back(std::move(next->passes));
  }
  auto passes = parts.size() == 1 ? std::optional(std::move(parts[0]))
                : is_and          ? Predicate::all_of(parts)
                                  : Predicate::any_of(parts);
  if (!passes) return std::nullopt;
  return ColumnPredicate{*column, std::move(*passes)};
}

Found found_in(const Expression& condition, Asked asked) {
  switch (condition.kind) {
    case Kind::kColumn:
      if (physical_type(condition.type) != PhysicalType::kBool) return std::nullopt;
      return answered(condition, Predicate::compare(Comparison::kEqual, int64_t{1}), asked);
    case Kind::kIsNull:
    case Kind::kIsNotNull: {
      const Expression* const column = column_of(*condition.children[0]);
      if (column == nullptr) return std::nullopt;
      const bool is_null = condition.kind == Kind::kIsNull;
      return answered(*column, is_null ? Predicate::is_null() : Predicate::is_not_null(), asked);
    }
    case Kind::kInList: return of_list(condition, asked);
    case Kind::kLike: return of_like(condition, asked);
    case Kind::kNot: return found_in(*condition.children[0], opposite(asked));
    case Kind::kAnd:
    case Kind::kOr: return of_connective(condition, asked);
    default: return of_comparison(condition, asked);
  }
}

bool is_of_texts(const ColumnCondition& condition) {
  using Question = Predicate::Question;
  const Question question = condition.predicate.passes.question();
  return question == Question::kTexts || question == Question::kSuffix;
}

}  // namespace

std::optional<ColumnPredicate> column_predicate(const Expression& condition) {
  return found_in(condition, Asked::kTrue);
}

std::vector<ColumnCondition> column_conditions(const std::vector<ExpressionPtr>& conjuncts) {
  using Question = Predicate::Question;
  struct Joined {
    uint32_t column;
    Question question;
    std::vector<Predicate> parts;
    std::vector<uint32_t> conjuncts;
  };
  std::vector<Joined> all;
  for (uint32_t i = 0; i < conjuncts.size(); ++i) {
    std::optional<ColumnPredicate> next = column_predicate(*conjuncts[i]);
    if (!next) continue;
    const Question question = next->passes.question();
    const bool joins = question == Question::kKeys || question == Question::kTexts;
    const auto known = std::find_if(all.begin(), all.end(), [&](const Joined& each) {
      return joins && each.column == next->column && each.question == question;
    });
    Joined& joined =
        known == all.end() ? all.emplace_back(Joined{next->column, question, {}, {}}) : *known;
    joined.parts.push_back(std::move(next->passes));
    joined.conjuncts.push_back(i);
  }
  std::vector<ColumnCondition> conditions;
  for (Joined& joined : all) {
    auto passes = joined.parts.size() == 1 ? std::optional(std::move(joined.parts[0]))
                                           : Predicate::all_of(joined.parts);
    DIPTYCH_CHECK(passes, "those that are joined ask one question");
    conditions.push_back({{joined.column, std::move(*passes)}, std::move(joined.conjuncts)});
  }
  std::stable_partition(conditions.begin(), conditions.end(),
                        [](const ColumnCondition& each) { return !is_of_texts(each); });
  return conditions;
}

}  // namespace diptych::olap
