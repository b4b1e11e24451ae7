// Functions of regular expressions whose last arguments may be left out: find_regex_function_binder
// of function_call.h.

#include <initializer_list>

#include "olap/execution/expression/row_functions.h"
#include "olap/sql/function_call.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

using Call = FunctionCall;

// Arguments that are left out at the end are 1 or 0, and no flags.
BoundResult bind_regex_call(Call call, const Signature& signature,
                            std::initializer_list<int64_t> integers) {
  constexpr size_t kRequired = 2;
  const std::string_view kinds = signature.arguments;
  if (call.arguments.size() < kRequired || call.arguments.size() > kinds.size()) {
    return call.wrong_count(fmt::format("{} to {} arguments", kRequired, kinds.size()));
  }
  auto absent = integers.begin();
  for (size_t i = kRequired; i < kinds.size(); ++i) {
    const int64_t integer = kinds[i] == 'i' ? *absent++ : 0;
    if (i < call.arguments.size()) continue;
    ExpressionPtr literal = kinds[i] == 'i' ? make_literal(kBigIntType, base::Value(integer))
                                            : make_literal(kTextType, base::Value(std::string()));
    call.arguments.push_back({std::move(literal), false, call.offset});
  }
  return bind_signature(std::move(call), signature);
}

BoundResult bind_regexp_count(Call call) {
  return bind_regex_call(std::move(call), {"regexp_count", Function::kRegexCount, kIntType, "ttit"},
                         {1});
}

BoundResult bind_regexp_substr(Call call) {
  return bind_regex_call(
      std::move(call),
      {"regexp_substr", Function::kRegexMatched, kTextType, "ttiiti", nullptr, true}, {1, 1, 0});
}

BoundResult bind_regexp_instr(Call call) {
  return bind_regex_call(std::move(call),
                         {"regexp_instr", Function::kRegexPosition, kIntType, "ttiiiti"},
                         {1, 1, 0, 0});
}

// regexp_replace(text, pattern, new[, flags]) or (text, pattern, new, start[, n[, flags]]): the
// n-th match, all where n is 0. Without n the flag "g" says which, and n is kRegexByFlags.
BoundResult bind_regexp_replace(Call call) {
  constexpr size_t kRequired = 3;
  const size_t written = call.arguments.size();
  if (written < kRequired || written > 6) return call.wrong_count("3 to 6 arguments");
  const auto number = [&](int64_t value) {
    return Bound{make_literal(kBigIntType, base::Value(value)), false, call.offset};
  };
  const bool has_start = written > 4 || (written == 4 && !call.arguments[3].untyped &&
                                         is_integer(call.arguments[3].expression->type));
  if (!has_start) call.arguments.insert(call.arguments.begin() + kRequired, number(1));
  if (written < 5) {
    call.arguments.insert(call.arguments.begin() + kRequired + 1,
                          number(has_start ? 1 : kRegexByFlags));
  }
  if (call.arguments.size() == 5) {
    call.arguments.push_back(
        {make_literal(kTextType, base::Value(std::string())), false, call.offset});
  }
  return bind_signature(std::move(call),
                        {"regexp_replace", Function::kRegexReplace, kTextType, "tttiit"});
}

}  // namespace

FunctionBinder find_regex_function_binder(std::string_view name) {
  static constexpr FunctionBinder kBinders[] = {bind_regexp_count, bind_regexp_substr,
                                                bind_regexp_instr, bind_regexp_replace};
  static_assert(std::size(kBinders) == kRegexFunctionNames.size());
  for (size_t i = 0; i < kRegexFunctionNames.size(); ++i) {
    if (kRegexFunctionNames[i] == name) return kBinders[i];
  }
  return nullptr;
}

}  // namespace diptych::olap
