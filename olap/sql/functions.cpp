// bind_function of operators.h.

#include <algorithm>
#include <span>
#include <unordered_map>

#include <fmt/format.h>

#include "base/check.h"
#include "base/counted.h"
#include "olap/sql/constant_folding.h"
#include "olap/sql/function_call.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {

BoundResult called(ExpressionPtr expression, int64_t offset) {
  return Bound{fold(std::move(expression)), false, offset};
}

ExpressionPtr is_known(const Expression& value) {
  return fold(make_expression(ExpressionKind::kIsNotNull, kBooleanType, clone(value)));
}

// The argument as text; untyped ones are texts already.
base::Result<ExpressionPtr> text_argument(const FunctionCall& call, Bound* argument) {
  if (!argument->expression->type.is_string()) {
    return call.wrong_type(*argument);
  }
  return std::move(argument->expression);
}

base::Result<ExpressionPtr> integer_argument(const FunctionCall& call, Bound* argument) {
  if (auto adopted = adopt_type(call.source, kBigIntType, argument); !adopted) {
    return adopted.error();
  }
  if (!is_integer(argument->expression->type)) {
    return call.wrong_type(*argument);
  }
  return cast_to(std::move(argument->expression), kBigIntType);
}

base::Result<ExpressionPtr> number_argument(const FunctionCall& call, Bound* argument) {
  if (auto adopted = adopt_type(call.source, kDoubleType, argument); !adopted) {
    return adopted.error();
  }
  if (!is_numeric(argument->expression->type)) {
    return call.wrong_type(*argument);
  }
  return std::move(argument->expression);
}

base::Result<ExpressionPtr> moment_argument(const FunctionCall& call, Bound* argument) {
  if (auto adopted = adopt_type(call.source, kTimestampType, argument); !adopted) {
    return adopted.error();
  }
  if (!is_datetime(argument->expression->type)) return call.wrong_type(*argument);
  return std::move(argument->expression);
}

base::Result<ExpressionPtr> interval_argument(const FunctionCall& call, Bound* argument) {
  if (auto adopted = adopt_type(call.source, kIntervalType, argument); !adopted) {
    return adopted.error();
  }
  if (argument->expression->type != kIntervalType) return call.wrong_type(*argument);
  return std::move(argument->expression);
}

namespace {

// What the letters of a signature take.
base::Result<ExpressionPtr> argument_of(const FunctionCall& call, char kind, Bound* argument) {
  switch (kind) {
    case 't': return text_argument(call, argument);
    case 'i': return integer_argument(call, argument);
    case 'v': return interval_argument(call, argument);
    case 'm': {
      auto moment = moment_argument(call, argument);
      if (!moment) return moment;
      return cast_to(*std::move(moment), kTimestampType);
    }
    default: {
      auto number = number_argument(call, argument);
      if (!number) return number;
      return cast_to(*std::move(number), kDoubleType);
    }
  }
}

}  // namespace

BoundResult bind_signature(FunctionCall call, const Signature& signature) {
  const size_t wanted = signature.arguments.size();
  const bool optional = signature.absent != nullptr;
  if (optional && call.arguments.size() + 1 == wanted) {
    call.arguments.push_back(
        {make_literal(kTextType, base::Value(std::string(signature.absent))), false, call.offset});
  }
  if (call.arguments.size() != wanted) {
    return call.wrong_count(base::counted(wanted, "argument") + (optional ? " or one fewer" : ""));
  }
  Expressions arguments;
  for (size_t i = 0; i < wanted; ++i) {
    auto argument = argument_of(call, signature.arguments[i], &call.arguments[i]);
    if (!argument) return argument.error();
    arguments.push_back(*std::move(argument));
  }
  const bool blanks = optional && signature.function == Function::kTrimBoth &&
                      is_literal(*arguments[1]) &&
                      arguments[1]->literal == base::Value(std::string(" "));
  if (blanks) {
    arguments.pop_back();
    return called(make_function(Function::kTrim, kTextType, std::move(arguments)), call.offset);
  }
  ExpressionPtr result = make_function(signature.function, signature.type, std::move(arguments));
  result->nullable = result->nullable || signature.may_be_null;
  return called(std::move(result), call.offset);
}

namespace {

using base::DataType;
using base::TypeKind;
using Call = FunctionCall;

BoundResult bind_text_function(Call call, Function function, DataType type) {
  if (call.arguments.size() != 1) return call.wrong_count("1 argument");
  auto text = text_argument(call, &call.arguments[0]);
  if (!text) return text.error();
  Expressions arguments;
  arguments.push_back(*std::move(text));
  return called(make_function(function, type, std::move(arguments)), call.offset);
}

// substring(text FROM pattern), substring(text SIMILAR pattern ESCAPE character)
BoundResult bind_substring_by_pattern(Call call, Function function) {
  Expressions arguments;
  for (Bound& argument : call.arguments) {
    auto text = text_argument(call, &argument);
    if (!text) return text.error();
    arguments.push_back(*std::move(text));
  }
  ExpressionPtr result = make_function(function, kTextType, std::move(arguments));
  result->nullable = true;
  return called(std::move(result), call.offset);
}

// In bytes of eight bits.
BoundResult bind_bit_length(Call call) {
  auto bytes = bind_text_function(std::move(call), Function::kLength, kIntType);
  if (!bytes) return bytes;
  const int64_t offset = bytes->offset;
  ExpressionPtr eight = make_literal(kIntType, base::Value(int64_t{8}));
  return called(make_expression(ExpressionKind::kMultiply, kIntType, std::move(bytes->expression),
                                std::move(eight)),
                offset);
}

BoundResult bind_substring(Call call) {
  if (call.arguments.size() < 2 || call.arguments.size() > 3) {
    return call.wrong_count("2 or 3 arguments");
  }
  const bool by_pattern =
      call.name == "substring" &&
      std::all_of(call.arguments.begin() + 1, call.arguments.end(),
                  [](const Bound& argument) { return argument.expression->type.is_string(); });
  if (by_pattern) {
    const bool similar = call.arguments.size() == 3;
    return bind_substring_by_pattern(
        std::move(call), similar ? Function::kSimilarSubstring : Function::kRegexSubstring);
  }
  Expressions arguments;
  auto text = text_argument(call, &call.arguments[0]);
  if (!text) return text.error();
  arguments.push_back(*std::move(text));
  for (size_t i = 1; i < call.arguments.size(); ++i) {
    auto number = integer_argument(call, &call.arguments[i]);
    if (!number) return number.error();
    arguments.push_back(*std::move(number));
  }
  // To the end of the text: a length that no text reaches.
  if (arguments.size() == 2) {
    arguments.push_back(make_literal(kBigIntType, base::Value(int64_t{INT32_MAX})));
  }
  return called(make_function(Function::kSubstring, kTextType, std::move(arguments)), call.offset);
}

// What the first character is does not depend on those behind it.
BoundResult bind_ascii(Call call) {
  auto ascii = bind_text_function(std::move(call), Function::kAscii, kIntType);
  if (!ascii || ascii->expression->children.empty()) return ascii;
  ExpressionPtr& text = ascii->expression->children[0];
  if (text->kind != ExpressionKind::kFunction || text->function != Function::kSubstring)
    return ascii;
  const auto* first = std::get_if<int64_t>(&text->children[1]->literal);
  const auto* length = std::get_if<int64_t>(&text->children[2]->literal);
  const bool from_the_first = first != nullptr && *first == 1 && length != nullptr && *length > 0;
  if (from_the_first) text = std::move(text->children[0]);
  return ascii;
}

constexpr Signature kSignatures[] = {
    {"length", Function::kCharLength, kIntType, "t"},
    {"char_length", Function::kCharLength, kIntType, "t"},
    {"character_length", Function::kCharLength, kIntType, "t"},
    {"position", Function::kPosition, kIntType, "tt"},
    {"strpos", Function::kPosition, kIntType, "tt"},
    {"replace", Function::kReplace, kTextType, "ttt"},
    {"lpad", Function::kLeftPad, kTextType, "tit", " "},
    {"rpad", Function::kRightPad, kTextType, "tit", " "},
    {"left", Function::kLeft, kTextType, "ti"},
    {"right", Function::kRight, kTextType, "ti"},
    {"reverse", Function::kReverse, kTextType, "t"},
    {"repeat", Function::kRepeat, kTextType, "ti"},
    {"split_part", Function::kSplitPart, kTextType, "tti"},
    {"btrim", Function::kTrimBoth, kTextType, "tt", " "},
    {"ltrim", Function::kTrimLeft, kTextType, "tt", " "},
    {"rtrim", Function::kTrimRight, kTextType, "tt", " "},
    {"starts_with", Function::kStartsWith, kBooleanType, "tt"},
    {"chr", Function::kChr, kTextType, "i"},
    {"translate", Function::kTranslate, kTextType, "ttt"},
    {"initcap", Function::kInitcap, kTextType, "t"},
    {"power", Function::kPower, kDoubleType, "dd"},
    {"pow", Function::kPower, kDoubleType, "dd"},
    {"sqrt", Function::kSqrt, kDoubleType, "d"},
    {"exp", Function::kExp, kDoubleType, "d"},
    {"ln", Function::kLn, kDoubleType, "d"},
    {"log10", Function::kLog10, kDoubleType, "d"},
    {"make_date", Function::kMakeDate, kDateType, "iii"},
    {"cbrt", Function::kCbrt, kDoubleType, "d"},
    {"sin", Function::kSin, kDoubleType, "d"},
    {"cos", Function::kCos, kDoubleType, "d"},
    {"tan", Function::kTan, kDoubleType, "d"},
    {"cot", Function::kCot, kDoubleType, "d"},
    {"asin", Function::kAsin, kDoubleType, "d"},
    {"acos", Function::kAcos, kDoubleType, "d"},
    {"atan", Function::kAtan, kDoubleType, "d"},
    {"atan2", Function::kAtan2, kDoubleType, "dd"},
    {"sinh", Function::kSinh, kDoubleType, "d"},
    {"cosh", Function::kCosh, kDoubleType, "d"},
    {"tanh", Function::kTanh, kDoubleType, "d"},
    {"asinh", Function::kAsinh, kDoubleType, "d"},
    {"acosh", Function::kAcosh, kDoubleType, "d"},
    {"atanh", Function::kAtanh, kDoubleType, "d"},
    {"sind", Function::kSind, kDoubleType, "d"},
    {"cosd", Function::kCosd, kDoubleType, "d"},
    {"tand", Function::kTand, kDoubleType, "d"},
    {"cotd", Function::kCotd, kDoubleType, "d"},
    {"asind", Function::kAsind, kDoubleType, "d"},
    {"acosd", Function::kAcosd, kDoubleType, "d"},
    {"atand", Function::kAtand, kDoubleType, "d"},
    {"atan2d", Function::kAtan2d, kDoubleType, "dd"},
    {"degrees", Function::kDegrees, kDoubleType, "d"},
    {"radians", Function::kRadians, kDoubleType, "d"},
    {"width_bucket", Function::kWidthBucket, kIntType, "dddi"},
    {"regexp_like", Function::kRegexLike, kBooleanType, "ttt", ""},
    {"md5", Function::kMd5, kTextType, "t"},
    {"justify_hours", Function::kJustifyHours, kIntervalType, "v"},
    {"justify_days", Function::kJustifyDays, kIntervalType, "v"},
    {"justify_interval", Function::kJustifyInterval, kIntervalType, "v"},
    {"date_bin", Function::kDateBin, kTimestampType, "vmm"},
    {"quote_ident", Function::kQuoteIdentifier, kTextType, "t"},
};

// A value as concat() writes it: a BOOLEAN as t or f.
ExpressionPtr written_text(ExpressionPtr value) {
  if (value->type.kind != TypeKind::kBoolean) return cast_to(std::move(value), kTextType);
  const auto text = [](const char* letter) {
    return make_literal(kTextType, base::Value(std::string(letter)));
  };
  Expressions choice;
  choice.push_back(clone(*value));
  choice.push_back(text("t"));
  choice.push_back(negated(std::move(value)));
  choice.push_back(text("f"));
  choice.push_back(make_null(kTextType));
  return fold(make_expression(ExpressionKind::kCase, kTextType, std::move(choice)));
}

// Halves of halves: within each other 100 texts would be 100 deep.
ExpressionPtr joined_texts(std::span<ExpressionPtr> texts) {
  if (texts.size() == 1) return std::move(texts[0]);
  const size_t half = texts.size() / 2;
  return fold(make_expression(ExpressionKind::kConcat, kTextType, joined_texts(texts.first(half)),
                              joined_texts(texts.subspan(half))));
}

// Texts of any values, NULL as nothing.
BoundResult bind_concat(Call call) {
  if (call.arguments.empty()) return call.wrong_count("1 argument or more");
  Expressions texts;
  for (Bound& argument : call.arguments) {
    ExpressionPtr text = written_text(std::move(argument.expression));
    if (text->nullable) {
      text = fold(make_expression(ExpressionKind::kCoalesce, kTextType, std::move(text),
                                  make_literal(kTextType, base::Value(std::string()))));
    }
    texts.push_back(std::move(text));
  }
  return called(joined_texts(texts), call.offset);
}

BoundResult bind_concat_ws(Call call) {
  if (call.arguments.size() < 2) return call.wrong_count("2 arguments or more");
  Expressions texts;
  for (Bound& argument : call.arguments) {
    texts.push_back(written_text(std::move(argument.expression)));
  }
  const bool nullable = texts[0]->nullable;
  ExpressionPtr result = make_function(Function::kConcatWs, kTextType, std::move(texts));
  result->nullable = nullable;
  return Bound{std::move(result), false, call.offset};
}

// format(template, values...): NULL where the template is.
BoundResult bind_format(Call call) {
  if (call.arguments.empty()) return call.wrong_count("1 argument or more");
  Expressions texts;
  for (Bound& argument : call.arguments) {
    texts.push_back(written_text(std::move(argument.expression)));
  }
  if (!texts[0]->type.is_string()) return call.wrong_type(call.arguments[0]);
  const bool nullable = texts[0]->nullable;
  ExpressionPtr result = make_function(Function::kFormat, kTextType, std::move(texts));
  result->nullable = nullable;
  return Bound{std::move(result), false, call.offset};
}

// Halves of halves, as joined_texts().
ExpressionPtr summed(std::span<ExpressionPtr> numbers) {
  if (numbers.size() == 1) return std::move(numbers[0]);
  const size_t half = numbers.size() / 2;
  return fold(make_expression(ExpressionKind::kAdd, kIntType, summed(numbers.first(half)),
                              summed(numbers.subspan(half))));
}

// num_nulls() and num_nonnulls() of values of any types.
BoundResult bind_null_count(Call call) {
  if (call.arguments.empty()) return call.wrong_count("1 argument or more");
  const auto number = [](int64_t value) { return make_literal(kIntType, base::Value(value)); };
  const int64_t of_null = call.name == "num_nulls" ? 1 : 0;
  Expressions counted;
  for (Bound& argument : call.arguments) {
    counted.push_back(
        fold(make_case(is_known(*argument.expression), number(1 - of_null), number(of_null))));
  }
  return called(summed(counted), call.offset);
}

// Of any value, as a cast to TEXT writes it; quote_nullable() makes NULL the word.
BoundResult bind_quote(Call call) {
  if (call.arguments.size() != 1) return call.wrong_count("1 argument");
  Expressions value;
  value.push_back(cast_to(std::move(call.arguments[0].expression), kTextType));
  ExpressionPtr quoted = make_function(Function::kQuoteLiteral, kTextType, std::move(value));
  if (call.name == "quote_nullable") {
    quoted = make_expression(ExpressionKind::kCoalesce, kTextType, fold(std::move(quoted)),
                             make_literal(kTextType, base::Value(std::string("NULL"))));
  }
  return called(std::move(quoted), call.offset);
}

// overlay(text PLACING part FROM start [FOR length])
BoundResult bind_overlay(Call call) {
  if (call.arguments.size() == 3) {
    Expressions part;
    part.push_back(clone(*call.arguments[1].expression));
    call.arguments.push_back(
        {make_function(Function::kCharLength, kIntType, std::move(part)), false, call.offset});
  }
  return bind_signature(std::move(call), {"overlay", Function::kOverlay, kTextType, "ttii"});
}

const std::unordered_map<std::string_view, FunctionBinder>& binders() {
  static const std::unordered_map<std::string_view, FunctionBinder> kBinders = {
      {"substring", bind_substring},
      {"substr", bind_substring},
      {"ascii", bind_ascii},
      {"octet_length",
       [](Call c) { return bind_text_function(std::move(c), Function::kLength, kIntType); }},
      {"bit_length", bind_bit_length},
      {"num_nulls", bind_null_count},
      {"num_nonnulls", bind_null_count},
      {"upper",
       [](Call c) { return bind_text_function(std::move(c), Function::kUpper, kTextType); }},
      {"lower",
       [](Call c) { return bind_text_function(std::move(c), Function::kLower, kTextType); }},
      {"concat", bind_concat},
      {"concat_ws", bind_concat_ws},
      {"format", bind_format},
      {"quote_literal", bind_quote},
      {"quote_nullable", bind_quote},
      {"overlay", bind_overlay},
  };
  return kBinders;
}

}  // namespace

bool is_function(std::string_view name) {
  return binders().contains(name) || find_date_function_binder(name) != nullptr ||
         find_number_function_binder(name) != nullptr ||
         find_regex_function_binder(name) != nullptr ||
         std::any_of(std::begin(kSignatures), std::end(kSignatures),
                     [&](const Signature& signature) { return signature.name == name; });
}

std::vector<std::string> function_names() {
  std::vector<std::string> names = date_function_names();
  for (std::string& name : number_function_names()) names.push_back(std::move(name));
  for (const std::string_view name : kRegexFunctionNames) names.emplace_back(name);
  for (const Signature& signature : kSignatures) names.emplace_back(signature.name);
  for (const auto& [name, binder] : binders()) names.emplace_back(name);
  return names;
}

BoundResult bind_function(const SourceText& source, std::string_view name, int64_t offset,
                          std::vector<Bound> arguments) {
  for (const Signature& signature : kSignatures) {
    if (signature.name == name) {
      return bind_signature(FunctionCall{source, name, offset, std::move(arguments)}, signature);
    }
  }
  if (const FunctionBinder binder = find_date_function_binder(name)) {
    return binder(FunctionCall{source, name, offset, std::move(arguments)});
  }
  if (const FunctionBinder binder = find_number_function_binder(name)) {
    return binder(FunctionCall{source, name, offset, std::move(arguments)});
  }
  if (const FunctionBinder binder = find_regex_function_binder(name)) {
    return binder(FunctionCall{source, name, offset, std::move(arguments)});
  }
  const auto found = binders().find(name);
  DIPTYCH_CHECK(found != binders().end(), "the caller has asked is_function()");
  return found->second(FunctionCall{source, name, offset, std::move(arguments)});
}

}  // namespace diptych::olap
