#include "olap/sql/shifted_sums.h"

#include <algorithm>
#include <optional>

#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

using base::int128_t;
using base::TypeKind;

// The sum of base + constant, base - constant or constant - base; without a constant, of base.
struct ShiftedSum {
  size_t aggregate;  // its number in the block
  const Expression* base;
  size_t base_side = 0;                   // which child of the argument the base is
  std::optional<int128_t> constant = {};  // in units
  bool mirrored = false;                  // constant - base
};

using Family = std::vector<ShiftedSum>;  // of one base

int128_t constant_units(const Expression& literal) {
  const auto* const decimal = std::get_if<base::DecimalValue>(&literal.literal);
  return decimal != nullptr ? decimal->units : std::get<int64_t>(literal.literal);
}

// Nothing: it is no sum, or one that stays.
std::optional<ShiftedSum> shifted_sum(const Aggregate& aggregate, size_t number) {
  const bool exact = is_integer(aggregate.type) || aggregate.type.kind == TypeKind::kDecimal;
  if (aggregate.kind != AggregateKind::kSum || aggregate.distinct || !exact) return std::nullopt;
  const Expression& argument = *aggregate.argument;
  if (is_wide(argument.type)) return std::nullopt;
  const bool adds = argument.kind == ExpressionKind::kAdd;
  if (!adds && argument.kind != ExpressionKind::kSubtract) return ShiftedSum{number, &argument};
  const size_t side = is_literal(*argument.children[0]) ? 1 : 0;
  const Expression& base = *argument.children[side];
  const Expression& literal = *argument.children[1 - side];
  const bool alike = same_representation(base.type, argument.type) &&
                     same_representation(literal.type, argument.type);
  if (!is_literal(literal) || is_null_literal(literal) || is_literal(base) || !alike) {
    return ShiftedSum{number, &argument};
  }
  const int128_t units = constant_units(literal);
  if (adds) return ShiftedSum{number, &base, side, units};
  return ShiftedSum{number, &base, side, side == 0 ? -units : units, side == 1};
}

std::vector<Family> families_of(const std::vector<Aggregate>& aggregates, PlanningWork* work) {
  std::vector<Family> families;
  for (size_t i = 0; i < aggregates.size(); ++i) {
    const std::optional<ShiftedSum> sum = shifted_sum(aggregates[i], i);
    if (!sum) continue;
    const auto family = std::find_if(families.begin(), families.end(), [&](const Family& other) {
      work->step();
      return equal(*other[0].base, *sum->base);
    });
    if (family == families.end()) {
      families.push_back({*sum});
    } else {
      family->push_back(*sum);
    }
  }
  std::erase_if(families, [](const Family& family) { return family.size() < kShiftedSumsMin; });
  return families;
}

class SharedAggregates {
 public:
  SharedAggregates(std::vector<Aggregate>* aggregates, std::vector<uint32_t>* slots,
                   SlotTable* table)
      : former_(std::move(*aggregates)), aggregates_(*aggregates), slots_(*slots), table_(*table) {
    aggregates_.clear();
    values_.resize(former_.size());
    former_slots_ = std::exchange(slots_, {});
  }

  void share(const Family& family);
  // The aggregates of no family stay.
  SharedSums finish();

 private:
  ExpressionPtr aggregate_of(AggregateKind kind, const Expression& base, base::DataType type);
  ExpressionPtr value_of(const ShiftedSum& sum, const Expression& total, const Expression& count);
  void check(const ShiftedSum& sum, const Expression& extreme);

  std::vector<Aggregate> former_;
  std::vector<uint32_t> former_slots_;
  std::vector<Aggregate>& aggregates_;
  std::vector<uint32_t>& slots_;
  SlotTable& table_;
  SharedSums shared_;
  Expressions values_;
};

// The column of the aggregate, which is computed once.
ExpressionPtr SharedAggregates::aggregate_of(AggregateKind kind, const Expression& base,
                                             base::DataType type) {
  Slot slot;
  slot.type = type;
  slot.nullable = kind != AggregateKind::kCount;
  slots_.push_back(table_.add(std::move(slot)));
  aggregates_.push_back({kind, clone(base), type});
  return table_.column(slots_.back());
}

ExpressionPtr SharedAggregates::value_of(const ShiftedSum& sum, const Expression& total,
                                         const Expression& count) {
  if (!sum.constant) return clone(total);
  const base::DataType& type = total.type;
  const bool decimal = type.kind == TypeKind::kDecimal;
  ExpressionPtr constant =
      make_literal(type, decimal ? base::Value(base::DecimalValue{*sum.constant, type.scale})
                                 : base::Value(static_cast<int64_t>(*sum.constant)));
  ExpressionPtr number = clone(count);
  if (decimal) number = cast_to(std::move(number), decimal_type(kWideDecimalDigitsMax, 0));
  ExpressionPtr shift =
      make_expression(ExpressionKind::kMultiply, type, std::move(number), std::move(constant));
  return sum.mirrored
             ? make_expression(ExpressionKind::kSubtract, type, std::move(shift), clone(total))
             : make_expression(ExpressionKind::kAdd, type, clone(total), std::move(shift));
}

// The argument for an extreme value, which is NULL where there is none.
void SharedAggregates::check(const ShiftedSum& sum, const Expression& extreme) {
  ExpressionPtr argument = clone(*former_[sum.aggregate].argument);
  argument->children[sum.base_side] = clone(extreme);
  argument->nullable = true;
  shared_.checks.push_back(make_expression(
      ExpressionKind::kOr, kBooleanType,
      make_expression(ExpressionKind::kIsNotNull, kBooleanType, std::move(argument)),
      make_expression(ExpressionKind::kIsNull, kBooleanType, clone(extreme))));
}

void SharedAggregates::share(const Family& family) {
  const Expression& base = *family[0].base;
  const base::DataType& type = former_[family[0].aggregate].type;
  const ExpressionPtr total = aggregate_of(AggregateKind::kSum, base, type);
  const ExpressionPtr count = aggregate_of(AggregateKind::kCount, base, kBigIntType);
  const ExpressionPtr least = aggregate_of(AggregateKind::kMin, base, base.type);
  const ExpressionPtr most = aggregate_of(AggregateKind::kMax, base, base.type);
  for (const ShiftedSum& sum : family) values_[sum.aggregate] = value_of(sum, *total, *count);
  // Which constant it is decides, and then the greatest or the least of the values.
  for (const bool mirrored : {false, true}) {
    const ShiftedSum* low = nullptr;
    const ShiftedSum* high = nullptr;
    for (const ShiftedSum& sum : family) {
      if (!sum.constant || sum.mirrored != mirrored) continue;
      if (low == nullptr || *sum.constant < *low->constant) low = &sum;
      if (high == nullptr || *sum.constant > *high->constant) high = &sum;
    }
    if (low == nullptr) continue;
    check(*low, mirrored ? *most : *least);
    check(*high, mirrored ? *least : *most);
  }
}

SharedSums SharedAggregates::finish() {
  for (size_t i = 0; i < former_.size(); ++i) {
    if (values_[i] != nullptr) continue;
    values_[i] = table_.column(former_slots_[i]);
    aggregates_.push_back(std::move(former_[i]));
    slots_.push_back(former_slots_[i]);
  }
  shared_.values = std::move(values_);
  return std::move(shared_);
}

}  // namespace

SharedSums share_shifted_sums(std::vector<Aggregate>* aggregates, std::vector<uint32_t>* slots,
                              SlotTable* table) {
  const std::vector<Family> families = families_of(*aggregates, &table->work());
  if (families.empty()) return {};
  SharedAggregates shared(aggregates, slots, table);
  for (const Family& family : families) shared.share(family);
  return shared.finish();
}

}  // namespace diptych::olap
