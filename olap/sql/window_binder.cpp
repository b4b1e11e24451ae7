// Window functions of ExpressionBinder.
//
// A call becomes a column, as an aggregate does: its window, which it shares with all calls of the
// same partitions and order, is put into the block. RANGE frames with an offset are made of
// columns: the last key that belongs to the frame is `key - offset` or `key + offset`, an
// expression as any other, so that numbers, dates and intervals need no rules of their own here.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "olap/sql/constant_folding.h"
#include "olap/sql/expression_binder.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

using base::TypeKind;

// PostgreSQL's bits of WindowDef::frame_options.
enum FrameOption : uint32_t {
  kNonDefault = 0x1,
  kRangeOption = 0x2,
  kRowsOption = 0x4,
  kGroupsOption = 0x8,
  kStartUnboundedPreceding = 0x20,
  kEndUnboundedPreceding = 0x40,
  kStartUnboundedFollowing = 0x80,
  kEndUnboundedFollowing = 0x100,
  kStartCurrentRow = 0x200,
  kEndCurrentRow = 0x400,
  kStartPreceding = 0x800,
  kEndPreceding = 0x1000,
  kStartFollowing = 0x2000,
  kEndFollowing = 0x4000,
  kExcludeCurrentRow = 0x8000,
  kExcludeGroup = 0x10000,
  kExcludeTies = 0x20000,
};

struct NamedFunction {
  std::string_view name;
  WindowKind kind;
  size_t arguments_min;
  size_t arguments_max;
};

constexpr NamedFunction kFunctions[] = {
    {"row_number", WindowKind::kRowNumber, 0, 0},
    {"rank", WindowKind::kRank, 0, 0},
    {"dense_rank", WindowKind::kDenseRank, 0, 0},
    {"percent_rank", WindowKind::kPercentRank, 0, 0},
    {"cume_dist", WindowKind::kCumeDist, 0, 0},
    {"ntile", WindowKind::kNtile, 1, 1},
    {"lag", WindowKind::kLag, 1, 3},
    {"lead", WindowKind::kLead, 1, 3},
    {"first_value", WindowKind::kFirstValue, 1, 1},
    {"last_value", WindowKind::kLastValue, 1, 1},
    {"nth_value", WindowKind::kNthValue, 2, 2},
};

const NamedFunction* find_function(std::string_view name) {
  for (const NamedFunction& function : kFunctions) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

FrameBound bound_of(uint32_t options, bool start) {
  const auto has = [&](FrameOption first, FrameOption last) {
    return (options & static_cast<uint32_t>(start ? first : last)) != 0;
  };
  if (has(kStartUnboundedPreceding, kEndUnboundedPreceding)) return FrameBound::kUnboundedPreceding;
  if (has(kStartUnboundedFollowing, kEndUnboundedFollowing)) return FrameBound::kUnboundedFollowing;
  if (has(kStartPreceding, kEndPreceding)) return FrameBound::kPreceding;
  if (has(kStartFollowing, kEndFollowing)) return FrameBound::kFollowing;
  return FrameBound::kCurrentRow;
}

// The bound, `key` minus or plus infinity, also where the key is the infinity of which that makes
// no number: all keys but NaNs are within the offset of it then.
ExpressionPtr bound_at_infinity(const Expression& key, bool minus, bool lower,
                                ExpressionPtr bound) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto infinity = [](bool negative) {
    return make_literal(kDoubleType, base::Value(negative ? -kInfinity : kInfinity));
  };
  ExpressionPtr open =
      fold(make_expression(ExpressionKind::kEqual, kBooleanType, clone(key), infinity(!minus)));
  return fold(make_case(std::move(open), infinity(lower), std::move(bound)));
}

bool has_offset(FrameBound bound) {
  return bound == FrameBound::kPreceding || bound == FrameBound::kFollowing;
}

bool is_negative(const base::Value& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return *number < 0;
  if (const auto* number = std::get_if<double>(&value)) return !(*number >= 0);
  if (const auto* number = std::get_if<base::DecimalValue>(&value)) return number->units < 0;
  const auto* const interval = std::get_if<base::Interval>(&value);
  return interval != nullptr && interval->normalized() < 0;
}

// In which an integer of the one and one of the other add up without an overflow.
base::DataType wider_type(const base::DataType& a, const base::DataType& b) {
  constexpr unsigned kDigits = 19;  // of a BIGINT
  const bool ints = a.kind == TypeKind::kInt && b.kind == TypeKind::kInt;
  return ints ? kBigIntType : decimal_type(kDigits, 0);
}

bool same_window(const Window& a, const Window& b) {
  const auto same_columns = [&](size_t x, size_t y) {
    return equal(*a.columns[x].expression, *b.columns[y].expression);
  };
  const auto same_keys = [&](const SortKey& x, const SortKey& y) {
    return x.descending == y.descending && x.nulls_first == y.nulls_first &&
           same_columns(x.column, y.column);
  };
  return std::equal(a.partition.begin(), a.partition.end(), b.partition.begin(), b.partition.end(),
                    same_columns) &&
         std::equal(a.order.begin(), a.order.end(), b.order.begin(), b.order.end(), same_keys);
}

}  // namespace

bool is_window_function(std::string_view function) {
  return find_function(function) != nullptr;
}

void add_window_function_names(std::vector<std::string>* names) {
  for (const NamedFunction& function : kFunctions) names->emplace_back(function.name);
}

// OVER's own clauses, and those of the window that it names.
struct ExpressionBinder::WindowDefinition {
  NodeList partition;
  NodeList order;
  const PgQuery__WindowDef* frame = nullptr;
  int64_t offset = -1;
};

BoundResult ExpressionBinder::bind_window(const PgQuery__FuncCall& call, std::string_view name) {
  const int64_t offset = call.location;
  if (in_aggregate_) {
    return source_.wrong(offset, "a window function within an aggregate", "42803");
  }
  if (in_window_) {
    return source_.wrong(offset, "a window function within a window function", "42P20");
  }
  if (!clause_.windows) {
    return source_.wrong(offset, fmt::format("a window function cannot stand in {}", clause_.name),
                         "42P20");
  }
  WindowDefinition definition;
  if (auto defined = define_window(*call.over, &definition); !defined) return defined.error();
  Window window;
  WindowCall result;
  in_window_ = true;
  auto bound = bind_window_columns(definition, &window);
  if (bound) bound = bind_frame(definition, &window, &result);
  if (bound && is_regression(name)) {
    auto value = bind_window_regression(call, name, std::move(window), result);
    in_window_ = false;
    return value;
  }
  if (bound) bound = bind_window_call(call, name, &window, &result);
  in_window_ = false;
  if (!bound) return bound.error();
  const bool is_number = result.function.kind == WindowKind::kNtile;
  ExpressionPtr value = place_window_call(std::move(window), std::move(result), name);
  if (is_number) value = cast_to(std::move(value), kIntType);
  return Bound{std::move(value), false, offset};
}

// Puts the call into the block, with a window of the same partitions and order if there is one;
// gives its column.
ExpressionPtr ExpressionBinder::place_window_call(Window window, WindowCall result,
                                                  std::string_view name) {
  auto& windows = block_.windows;
  slots_.work().step();
  auto known = std::find_if(windows.begin(), windows.end(),
                            [&](const Window& other) { return same_window(other, window); });
  if (known == windows.end()) {
    windows.push_back(std::move(window));
    slots_.work().check_columns(windows.size(), "a SELECT with windows");
    known = windows.end() - 1;
  } else {
    // Its columns move to the window that exists.
    std::vector<uint32_t> moved;
    for (WindowColumn& column : window.columns) {
      moved.push_back(
          static_cast<uint32_t>(add_window_column(&*known, std::move(column.expression))));
    }
    for (uint32_t& argument : result.function.arguments) argument = moved[argument];
    Frame& frame = result.function.frame;
    if (result.start_is_column) frame.start_offset = moved[frame.start_offset];
    if (result.end_is_column) frame.end_offset = moved[frame.end_offset];
  }
  for (const WindowCall& call : known->calls) {
    if (call.function == result.function) return slots_.column(call.slot);
  }
  Slot slot;
  slot.name = name;
  slot.type = result.function.type;
  const bool number = result.function.kind <= WindowKind::kCumeDist;
  const bool counts = result.function.kind == WindowKind::kAggregate &&
                      (result.function.aggregate == AggregateKind::kCount ||
                       result.function.aggregate == AggregateKind::kCountAll);
  slot.nullable = !number && !counts;
  result.slot = slots_.add(std::move(slot));
  known->calls.push_back(std::move(result));
  slots_.work().check_columns(known->calls.size(), "a window");
  return slots_.column(known->calls.back().slot);
}

base::Error ExpressionBinder::unknown_window(int64_t offset, const char* name) const {
  std::vector<std::string> names;
  for (const auto& [known, window] : named_windows_) names.push_back(known);
  return source_.wrong(
      offset, fmt::format("no window \"{}\" in WINDOW{}", name, suggestion(name, std::move(names))),
      "42704");
}

base::Result<void> ExpressionBinder::name_windows(NodeList clause) {
  for (const Node* node : clause) {
    const PgQuery__WindowDef& window = *node->window_def;
    if (named_windows_.contains(window.name)) {
      return source_.wrong(window.location,
                           fmt::format("window \"{}\" is defined twice", window.name), "42P20");
    }
    if (window.refname[0] != '\0' && !named_windows_.contains(window.refname)) {
      return unknown_window(window.location, window.refname);
    }
    named_windows_[window.name] = {&window, false};
  }
  return {};
}

base::Result<void> ExpressionBinder::bind_unused_windows(NodeList clause) {
  for (const Node* node : clause) {
    const NamedWindow& named = named_windows_.at(node->window_def->name);
    if (named.used) continue;
    WindowDefinition definition;
    Window window;
    WindowCall call;
    clause_ = {"WINDOW", true};
    in_window_ = true;
    auto bound = define_window(*named.definition, &definition);
    if (bound) bound = bind_window_columns(definition, &window);
    if (bound) bound = bind_frame(definition, &window, &call);
    in_window_ = false;
    if (!bound) return bound;
    block_.windows.push_back(std::move(window));
  }
  return {};
}

base::Result<void> ExpressionBinder::define_window(const PgQuery__WindowDef& over,
                                                   WindowDefinition* definition) {
  const auto use = [&](const char* name) -> const PgQuery__WindowDef* {
    const auto found = named_windows_.find(name);
    if (found == named_windows_.end()) return nullptr;
    found->second.used = true;
    return found->second.definition;
  };
  const PgQuery__WindowDef* own = &over;
  if (over.name[0] != '\0') own = use(over.name);
  if (own == nullptr) return unknown_window(over.location, over.name);
  definition->offset = over.location;
  definition->partition = NodeList(own->partition_clause, own->n_partition_clause);
  definition->order = NodeList(own->order_clause, own->n_order_clause);
  definition->frame = own;
  if (own->refname[0] == '\0') return {};
  WindowDefinition base;
  const PgQuery__WindowDef* const named = use(own->refname);
  if (named == nullptr) return unknown_window(over.location, own->refname);
  if (auto defined = define_window(*named, &base); !defined) return defined;
  if (auto checked = check_copied(*own, base); !checked) return checked;
  definition->partition = base.partition;
  if (definition->order.empty()) definition->order = base.order;
  return {};
}

// Whether the window that `own` names can be its base, which gives partitions and order.
base::Result<void> ExpressionBinder::check_copied(const PgQuery__WindowDef& own,
                                                  const WindowDefinition& base) const {
  const int64_t offset = own.location;
  const auto overrides = [&](std::string_view clause) {
    return source_.wrong(
        offset, fmt::format("cannot override {} clause of window \"{}\"", clause, own.refname),
        "42P20");
  };
  if (own.n_partition_clause != 0) return overrides("PARTITION BY");
  if (own.n_order_clause != 0 && !base.order.empty()) return overrides("ORDER BY");
  if ((static_cast<uint32_t>(base.frame->frame_options) & kNonDefault) == 0) return {};
  const bool only_named = own.name[0] == '\0' && own.n_order_clause == 0 &&
                          (static_cast<uint32_t>(own.frame_options) & kNonDefault) == 0;
  return source_.wrong(
      offset,
      fmt::format("cannot copy window \"{}\" because it has a frame clause{}", own.refname,
                  only_named ? "; omit the parentheses in this OVER clause" : ""),
      "42P20");
}

size_t ExpressionBinder::add_window_column(Window* window, ExpressionPtr expression) {
  for (size_t i = 0; i < window->columns.size(); ++i) {
    if (equal(*window->columns[i].expression, *expression)) return i;
  }
  const uint32_t slot = slots_.add({"", expression->type, expression->nullable, nullptr, {}});
  window->columns.push_back({std::move(expression), slot});
  slots_.work().check_columns(window->columns.size(), "a window");
  return window->columns.size() - 1;
}

base::Result<void> ExpressionBinder::bind_window_columns(const WindowDefinition& definition,
                                                         Window* window) {
  slots_.work().check_columns(definition.partition.size(), "PARTITION BY");
  slots_.work().check_columns(definition.order.size(), "ORDER BY");
  for (const Node* node : definition.partition) {
    auto bound = dispatch(*node);
    if (!bound) return bound.error();
    window->partition.push_back(add_window_column(window, std::move(bound->expression)));
  }
  for (const Node* node : definition.order) {
    const PgQuery__SortBy& item = *node->sort_by;
    auto bound = dispatch(*item.node);
    if (!bound) return bound.error();
    auto key = sort_key_of(source_, item);
    if (!key) return key.error();
    key->column = static_cast<uint32_t>(add_window_column(window, std::move(bound->expression)));
    window->order.push_back(*key);
  }
  return {};
}

base::Result<void> ExpressionBinder::bind_frame(const WindowDefinition& definition, Window* window,
                                                WindowCall* call) {
  const auto options = static_cast<uint32_t>(definition.frame->frame_options);
  Frame& frame = call->function.frame;
  if ((options & kNonDefault) == 0) return {};
  if ((options & kRowsOption) != 0) frame.mode = FrameMode::kRows;
  if ((options & kGroupsOption) != 0) frame.mode = FrameMode::kGroups;
  frame.start = bound_of(options, true);
  frame.end = bound_of(options, false);
  if ((options & kExcludeCurrentRow) != 0) frame.exclusion = FrameExclusion::kCurrentRow;
  if ((options & kExcludeGroup) != 0) frame.exclusion = FrameExclusion::kGroup;
  if ((options & kExcludeTies) != 0) frame.exclusion = FrameExclusion::kTies;
  if (frame.mode == FrameMode::kGroups && window->order.empty()) {
    return source_.wrong(definition.offset, "GROUPS needs an ORDER BY", "42P20");
  }
  if (frame.mode == FrameMode::kRange) return bind_range_offsets(definition, window, call);
  if (has_offset(frame.start)) {
    auto offset = bind_row_offset(*definition.frame, true);
    if (!offset) return offset.error();
    frame.start_offset = *offset;
  }
  if (has_offset(frame.end)) {
    auto offset = bind_row_offset(*definition.frame, false);
    if (!offset) return offset.error();
    frame.end_offset = *offset;
  }
  return {};
}

// A frame's offset: a literal that is not NULL and not negative. One without a type becomes an
// `adopted`.
BoundResult ExpressionBinder::bind_frame_offset(const PgQuery__WindowDef& frame, bool start,
                                                const base::DataType& adopted) {
  const auto slots_before = static_cast<uint32_t>(slots_.size());
  auto offset = dispatch(start ? *frame.start_offset : *frame.end_offset);
  if (!offset) return offset;
  bool names_column = false;
  for_each_column(std::as_const(*offset->expression), [&](const Expression& column) {
    names_column |= column.column >= first_own_slot_ && column.column < slots_before;
  });
  if (names_column) {
    return source_.wrong(offset->offset, "a frame's offset must not contain variables", "42P10");
  }
  if (!is_literal(*offset->expression)) {
    return source_.unsupported(offset->offset, "a frame's offset that is no constant");
  }
  if (is_null_literal(*offset->expression)) {
    return source_.wrong(
        offset->offset,
        fmt::format("frame {} offset must not be null", start ? "starting" : "ending"), "22004");
  }
  if (auto done = adopt_type(source_, adopted, &*offset); !done) return done.error();
  if (is_negative(offset->expression->literal)) {
    return source_.wrong(
        offset->offset,
        fmt::format("frame {} offset must not be negative", start ? "starting" : "ending"),
        "22013");
  }
  return offset;
}

base::Result<uint64_t> ExpressionBinder::bind_row_offset(const PgQuery__WindowDef& frame,
                                                         bool start) {
  auto offset = bind_frame_offset(frame, start, kBigIntType);
  if (!offset) return offset.error();
  if (!is_numeric(offset->expression->type)) {
    return source_.wrong(offset->offset, "a frame's offset in rows is a whole number", "42804");
  }
  const auto number = rounded_number(offset->expression->literal);
  if (!number) return source_.wrong(offset->offset, "bigint out of range", "22003");
  return static_cast<uint64_t>(*number);
}

// The keys at the frame's ends as columns of one type with the sort key.
base::Result<void> ExpressionBinder::bind_range_offsets(const WindowDefinition& definition,
                                                        Window* window, WindowCall* call) {
  Frame& frame = call->function.frame;
  if (!has_offset(frame.start) && !has_offset(frame.end)) return {};
  if (window->order.size() != 1) {
    return source_.wrong(definition.offset, "RANGE with an offset needs one ORDER BY expression",
                         "42P20");
  }
  SortKey& key = window->order[0];
  const Expression& written = *window->columns[key.column].expression;
  Expressions bounds;
  for (const bool start : {true, false}) {
    const FrameBound bound = start ? frame.start : frame.end;
    if (!has_offset(bound)) continue;
    auto offset = bind_frame_offset(*definition.frame, start,
                                    is_datetime(written.type) ? kIntervalType : written.type);
    if (!offset) return offset.error();
    ExpressionPtr from = clone(written);
    if (is_integer(written.type) && is_integer(offset->expression->type)) {
      from = cast_to(std::move(from), wider_type(written.type, offset->expression->type));
    }
    const bool minus = (bound == FrameBound::kPreceding) != key.descending;
    const int64_t place = offset->offset;
    const auto* const number = std::get_if<double>(&offset->expression->literal);
    const bool infinite = number != nullptr && std::isinf(*number) && written.type == kDoubleType;
    auto end = bind_operator(source_, minus ? "-" : "+", place,
                             Bound{std::move(from), false, place}, *std::move(offset));
    if (!end && end.error().sqlstate() == "42883") {
      return source_.wrong(place,
                           fmt::format("RANGE with an offset is not supported for {} and this "
                                       "offset",
                                       written.type.to_string()),
                           "0A000");
    }
    if (!end) return end.error();
    if (infinite) {
      end->expression =
          bound_at_infinity(written, minus, start != key.descending, std::move(end->expression));
    }
    bounds.push_back(std::move(end->expression));
  }
  std::optional<base::DataType> type = written.type;
  for (const ExpressionPtr& bound : bounds) {
    type = type ? common_type(*type, bound->type) : std::nullopt;
  }
  if (!type) {
    return source_.wrong(definition.offset, "RANGE's offset does not fit its ORDER BY", "0A000");
  }
  key.column = static_cast<uint32_t>(add_window_column(window, cast_to(clone(written), *type)));
  size_t next = 0;
  if (has_offset(frame.start)) {
    frame.start_offset = add_window_column(window, cast_to(std::move(bounds[next++]), *type));
    call->start_is_column = true;
  }
  if (has_offset(frame.end)) {
    frame.end_offset = add_window_column(window, cast_to(std::move(bounds[next]), *type));
    call->end_is_column = true;
  }
  return {};
}

base::Result<void> ExpressionBinder::bind_window_call(const PgQuery__FuncCall& call,
                                                      std::string_view name, Window* window,
                                                      WindowCall* result) {
  if (is_aggregate(name)) return bind_window_aggregate(call, name, window, result);
  const NamedFunction* function = find_function(name);
  if (function == nullptr && !is_function(name)) return unknown_function(call, name);
  if (function == nullptr) {
    return source_.wrong(call.location, fmt::format("{}() is no window function", name), "42809");
  }
  if (call.agg_filter != nullptr || call.agg_distinct != 0 || call.n_agg_order != 0) {
    return source_.wrong(
        call.location,
        fmt::format("FILTER, DISTINCT and ORDER BY are for aggregates, not for {}()", name),
        "0A000");
  }
  if (call.n_args < function->arguments_min || call.n_args > function->arguments_max) {
    return source_.wrong(call.location, fmt::format("{}() takes another number of arguments", name),
                         "42883");
  }
  result->function.kind = function->kind;
  return bind_window_arguments(call, name, window, result);
}

base::Result<void> ExpressionBinder::bind_window_arguments(const PgQuery__FuncCall& call,
                                                           std::string_view name, Window* window,
                                                           WindowCall* result) {
  const WindowKind kind = result->function.kind;
  const bool shift = kind == WindowKind::kLag || kind == WindowKind::kLead;
  auto arguments = bind_all(NodeList(call.args, call.n_args));
  if (!arguments) return arguments.error();
  const auto as_number = [&](Bound* argument) -> base::Result<void> {
    if (auto done = adopt_type(source_, kBigIntType, argument); !done) return done;
    if (!is_integer(argument->expression->type)) {
      return source_.wrong(
          call.location,
          fmt::format("{}() does not take {}", name, argument->expression->type.to_string()),
          "42883");
    }
    argument->expression = cast_to(std::move(argument->expression), kBigIntType);
    return {};
  };
  std::optional<base::DataType> of_both;  // the value and what is in its place
  if (shift) {
    const int64_t place = call.location;
    if (arguments->size() < 2) {
      arguments->push_back(typed(make_literal(kBigIntType, base::Value(int64_t{1})), place));
    }
    if (arguments->size() < 3) {
      arguments->push_back({make_null(kTextType), true, place});
    }
    Bound* values[] = {&(*arguments)[0], &(*arguments)[2]};
    const auto unified = unify(source_, name, place, values);
    if (!unified) return unified.error();
    of_both = *unified;
  }
  const size_t number = kind == WindowKind::kNtile ? 0 : 1;
  if (number < arguments->size()) {
    if (auto done = as_number(&(*arguments)[number]); !done) return done;
  }
  const bool ratio = kind == WindowKind::kPercentRank || kind == WindowKind::kCumeDist;
  result->function.type = ratio ? kDoubleType : kBigIntType;
  if (kind > WindowKind::kNtile) {
    result->function.type = of_both.value_or((*arguments)[0].expression->type);
  }
  for (Bound& argument : *arguments) {
    result->function.arguments.push_back(
        static_cast<uint32_t>(add_window_column(window, std::move(argument.expression))));
  }
  return {};
}

base::Result<void> ExpressionBinder::bind_window_aggregate(const PgQuery__FuncCall& call,
                                                           std::string_view name, Window* window,
                                                           WindowCall* result) {
  if (call.agg_within_group != 0) {
    return source_.unsupported(call.location, fmt::format("{}() over a window", name));
  }
  if (call.agg_distinct != 0 || call.n_agg_order != 0) {
    return source_.unsupported(call.location, "DISTINCT or ORDER BY in a window's aggregate");
  }
  Aggregate aggregate;
  if (auto bound = bind_aggregate_call(call, name, &aggregate); !bound) return bound;
  set_aggregate(std::move(aggregate), window, result);
  return {};
}

void ExpressionBinder::set_aggregate(Aggregate aggregate, Window* window, WindowCall* result) {
  WindowFunction& function = result->function;
  function.kind = WindowKind::kAggregate;
  function.aggregate = aggregate.kind;
  function.type = aggregate.type;
  const auto add = [&](ExpressionPtr argument) {
    function.arguments.push_back(
        static_cast<uint32_t>(add_window_column(window, std::move(argument))));
  };
  if (aggregate.argument == nullptr) return;
  ExpressionPtr first = std::move(aggregate.argument);
  // Differences of exact numbers are exact, those of DOUBLEs made of them may not be.
  if (is_variance(aggregate.kind) && first->kind == ExpressionKind::kCast &&
      is_numeric(first->children[0]->type)) {
    first = std::move(first->children[0]);
  }
  function.argument_scale = first->type.scale;
  add(std::move(first));
  for (ExpressionPtr& argument : aggregate.further) add(std::move(argument));
}

}  // namespace diptych::olap
