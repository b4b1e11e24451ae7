// Functions of regular expressions, which are RE2's: make_regex_function of row_functions.h.
//
// Of several matches at a place PostgreSQL takes the longest one, and so do these, unless the
// expression has a quantifier that is not greedy.

#include <array>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <re2/re2.h>

#include "olap/execution/expression/row_node.h"
#include "olap/execution/limits/query_failure.h"
#include "olap/execution/limits/stop_signal.h"
#include "olap/execution/pattern/like_pattern.h"
#include "olap/execution/pattern/similar_pattern.h"
#include "olap/execution/vector/utf8_text.h"

namespace diptych::olap {

namespace {

using base::StringRef;

re2::StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

bool has_reluctant_quantifier(std::string_view pattern) {
  for (const std::string_view quantifier : {"*?", "+?", "??", "}?"}) {
    if (pattern.find(quantifier) != std::string_view::npos) return true;
  }
  return false;
}

void require_pattern_size(size_t bytes) {
  if (bytes > kPatternBytesMax) {
    fail_value(fmt::format("a regular expression has at most {} bytes", kPatternBytesMax), "54000");
  }
}

struct RegexFlags {
  bool any_case = false;
  bool global = false;
  bool literal = false;

  bool operator==(const RegexFlags&) const = default;
};

RegexFlags flags_of(std::string_view letters) {
  RegexFlags flags;
  for (size_t i = 0; i < letters.size(); ++i) {
    const char letter = letters[i];
    if (letter == 'g') {
      flags.global = true;
    } else if (letter == 'i' || letter == 'c') {
      flags.any_case = letter == 'i';
    } else if (letter == 'q') {
      flags.literal = true;
    } else if (std::string_view("bemnpwx").find(letter) != std::string_view::npos) {
      fail_value(
          "regular expression option \"" + std::string(1, letter) + "\" is not supported yet",
          "0A000");
    } else if (letter != 's' && letter != 't') {
      const std::string option(letters.substr(i, character_bytes(letters, i)));
      fail_value("invalid regular expression option: \"" + option + "\"", "22023");
    }
  }
  return flags;
}

RegexFlags flags_without_global(std::string_view letters, std::string_view function) {
  const RegexFlags flags = flags_of(letters);
  if (flags.global) {
    fail_value(std::string(function) + "() does not support the \"global\" option", "22023");
  }
  return flags;
}

// What is wrong with the expression. Where brackets do not match RE2 quotes all of it, or its rest:
// of SIMILAR TO that is a text that nobody wrote.
std::string fault_of(const RE2& regex) {
  std::string fault = regex.error();
  const RE2::ErrorCode code = regex.error_code();
  const bool quotes_all = code == RE2::ErrorMissingBracket || code == RE2::ErrorMissingParen ||
                          code == RE2::ErrorUnexpectedParen;
  const std::string quoted = ": " + regex.error_arg();
  if (quotes_all && fault.ends_with(quoted)) fault.resize(fault.size() - quoted.size());
  return fault;
}

// The expression as RE2 has it: a backspace and a backslash, which it takes for borders of words,
// are written otherwise, and what it alone understands is an error.
std::string as_re2(std::string_view pattern) {
  std::string written;
  written.reserve(pattern.size());
  for (size_t i = 0; i < pattern.size(); ++i) {
    const std::string_view rest = pattern.substr(i);
    if (pattern[i] != '\\' || rest.size() == 1) {
      written += pattern[i];
      continue;
    }
    const char escaped = pattern[++i];
    if (std::string_view("CEQPpz").find(escaped) != std::string_view::npos ||
        rest.starts_with("\\x{")) {
      fail_value(fmt::format("invalid regular expression: \\{}", escaped), "2201B");
    }
    if (escaped == 'b') {
      written += "\\x08";
    } else if (escaped == 'B') {
      written += "\\\\";
    } else {
      written.append({'\\', escaped});
    }
  }
  return written;
}

// The last expression stays compiled: most are literals.
class CompiledRegex {
 public:
  explicit CompiledRegex(const QueryLimits& limits) : countdown_(limits.stop) {}

  // Of texts that are matched.
  StopCountdown* countdown() { return &countdown_; }
  const RE2& of(std::string_view pattern, const RegexFlags& flags) {
    if (regex_ != nullptr && pattern_ == pattern && flags_ == flags) return *regex_;
    require_pattern_size(pattern.size());
    regex_ = nullptr;
    const std::string written = flags.literal ? std::string(pattern) : as_re2(pattern);
    RE2::Options options;
    options.set_log_errors(false);
    options.set_case_sensitive(!flags.any_case);
    options.set_literal(flags.literal);
    options.set_dot_nl(true);
    options.set_longest_match(!has_reluctant_quantifier(pattern));
    options.set_max_mem(int64_t{8} << 20);
    regex_ = std::make_unique<RE2>(written, options);
    pattern_ = pattern;
    flags_ = flags;
    if (!regex_->ok()) fail_value("invalid regular expression: " + fault_of(*regex_), "2201B");
    return *regex_;
  }

 private:
  std::unique_ptr<RE2> regex_;
  std::string pattern_;  // as it was given
  RegexFlags flags_;
  StopCountdown countdown_;
};

bool regex_matches(const RE2& regex, std::string_view text) {
  return RE2::PartialMatch(piece(text), regex);
}

constexpr int kGroupsMax = 10;  // the match itself, and \1 to \9
using RegexGroups = std::array<re2::StringPiece, kGroupsMax>;

// Calls visit(groups) for one match after the other from byte `at` on, none overlapping, until it
// returns false.
template <class Visit>
void for_matches(const RE2& regex, std::string_view text, size_t at, StopCountdown* countdown,
                 const Visit& visit) {
  const int groups_wanted = std::min(regex.NumberOfCapturingGroups() + 1, kGroupsMax);
  while (at <= text.size()) {
    // Each match may read to the text's end, wherever it ends; one of nothing takes time, too.
    countdown->pass(text.size() - at + 16);
    RegexGroups groups{};
    if (!regex.Match(piece(text), at, text.size(), RE2::UNANCHORED, groups.data(), groups_wanted)) {
      return;
    }
    if (!visit(groups)) return;
    const auto begin = static_cast<size_t>(groups[0].data() - text.data());
    at = begin + groups[0].size();
    // Behind a match of nothing the next one begins a character later.
    if (groups[0].empty()) at += at < text.size() ? character_bytes(text, at) : 1;
  }
}

// \1 to \9 are groups, \& the match, \\ a backslash.
void append_replacement(std::string_view replacement, const RegexGroups& groups,
                        CountedText* result) {
  for (size_t i = 0; i < replacement.size(); ++i) {
    const char next = i + 1 < replacement.size() ? replacement[i + 1] : '\0';
    const bool group = next == '&' || (next >= '1' && next <= '9');
    if (replacement[i] != '\\' || (!group && next != '\\')) {
      result->push_back(replacement[i]);
      continue;
    }
    ++i;
    if (group) {
      const re2::StringPiece& part = groups[next == '&' ? 0 : static_cast<size_t>(next - '0')];
      result->append(part.data() == nullptr ? "" : part.data(), part.size());
    } else {
      result->push_back('\\');
    }
  }
}

// The text with the n-th match from byte `at` on replaced, or all where n is 0.
void replace_matches(const RE2& regex, std::string_view text, size_t at,
                     std::string_view replacement, int64_t n, CountedText* result) {
  size_t copied = 0;
  int64_t matches = 0;
  StopCountdown countdown(&result->get_allocator().stop());
  for_matches(regex, text, at, &countdown, [&](const RegexGroups& groups) {
    if (++matches < n) return true;
    const auto begin = static_cast<size_t>(groups[0].data() - text.data());
    const size_t before = result->size();
    *result += text.substr(copied, begin - copied);
    append_replacement(replacement, groups, result);
    require_text_size(result->size());
    countdown.pass(result->size() - before + groups[0].size());
    copied = begin + groups[0].size();
    return n == 0;
  });
  *result += text.substr(copied);
}

NodePtr make_regex_substring(std::vector<NodePtr> children, const QueryLimits& limits) {
  return make_row_node<StringRef>(
      PhysicalType::kString, std::move(children), limits,
      [compiled = CompiledRegex(limits)](const RowArguments& a,
                                         VectorTexts* texts) mutable -> std::optional<StringRef> {
        const RE2& regex = compiled.of(a.text(1), {});
        std::optional<StringRef> found;
        for_matches(regex, a.text(0), 0, compiled.countdown(), [&](const RegexGroups& groups) {
          const re2::StringPiece& part = groups[regex.NumberOfCapturingGroups() > 0 ? 1 : 0];
          if (part.data() != nullptr) {
            found = texts->keep(StringRef(std::string_view(part.data(), part.size())));
          }
          return false;
        });
        return found;
      });
}

// An argument that counts from `least`.
int64_t counting_argument(std::string_view name, int64_t value, int64_t least) {
  if (value < least) {
    fail_value(fmt::format("invalid value for parameter \"{}\": {}", name, value), "22023");
  }
  return value;
}

// The byte of the text at which argument `place` says that matches begin; behind its end too.
size_t first_byte(const RowArguments& a, size_t place) {
  const int64_t characters = counting_argument("start", a.integer(place), 1) - 1;
  const std::string_view text = a.text(0);
  const size_t byte = offset_of_character(text, characters);
  const bool beyond = byte == text.size() && characters > count_characters(text);
  return beyond ? text.size() + 1 : byte;
}

// Where the flags and the group of kRegexMatched and kRegexPosition stand.
struct RegexCall {
  std::string_view name;
  size_t flags;
};

// The group of the match that is asked for; nullopt where there is none.
std::optional<std::string_view> wanted_match(const RowArguments& a, const RegexCall& call,
                                             CompiledRegex* compiled) {
  const size_t first = first_byte(a, 2);
  const int64_t number = counting_argument("n", a.integer(3), 1);
  const RegexFlags flags = flags_without_global(a.text(call.flags), call.name);
  const int64_t group = counting_argument("subexpr", a.integer(call.flags + 1), 0);
  const RE2& regex = compiled->of(a.text(1), flags);
  if (group > regex.NumberOfCapturingGroups()) return std::nullopt;
  if (group >= kGroupsMax) {
    fail_value(fmt::format("a group beyond {} is not supported yet", kGroupsMax - 1), "0A000");
  }
  std::optional<std::string_view> found;
  int64_t matches = 0;
  for_matches(regex, a.text(0), first, compiled->countdown(), [&](const RegexGroups& groups) {
    if (++matches < number) return true;
    const re2::StringPiece& part = groups[static_cast<size_t>(group)];
    if (part.data() != nullptr) found = std::string_view(part.data(), part.size());
    return false;
  });
  return found;
}

// Of text, pattern, replacement, start, n (kRegexByFlags: the flags say whether all) and flags.
NodePtr make_regex_replace(std::vector<NodePtr> children, const QueryLimits& limits) {
  return make_row_node<StringRef>(
      PhysicalType::kString, std::move(children), limits,
      [compiled = CompiledRegex(limits)](const RowArguments& a, VectorTexts* texts) mutable {
        const size_t first = first_byte(a, 3);
        const RegexFlags flags = flags_of(a.text(5));
        const int64_t by_flags = flags.global ? 0 : 1;
        const int64_t n =
            a.integer(4) == kRegexByFlags ? by_flags : counting_argument("n", a.integer(4), 0);
        const RE2& regex = compiled.of(a.text(1), flags);
        return texts->make([&](CountedText* text) {
          replace_matches(regex, a.text(0), first, a.text(2), n, text);
        });
      });
}

NodePtr make_regex_matched(std::vector<NodePtr> children, const QueryLimits& limits) {
  return make_row_node<StringRef>(
      PhysicalType::kString, std::move(children), limits,
      [compiled = CompiledRegex(limits)](const RowArguments& a,
                                         VectorTexts* texts) mutable -> std::optional<StringRef> {
        const auto found = wanted_match(a, {"regexp_substr", 4}, &compiled);
        if (!found) return std::nullopt;
        return texts->keep(StringRef(*found));
      });
}

NodePtr make_regex_position(std::vector<NodePtr> children, const QueryLimits& limits) {
  return make_row_node<int32_t>(
      PhysicalType::kInt32, std::move(children), limits,
      [compiled = CompiledRegex(limits)](const RowArguments& a, VectorTexts*) mutable {
        const int64_t end = a.integer(4);
        if (end != 0 && end != 1) {
          fail_value(fmt::format("invalid value for parameter \"endoption\": {}", end), "22023");
        }
        const auto found = wanted_match(a, {"regexp_instr", 5}, &compiled);
        if (!found) return int32_t{0};
        const char* const at = found->data() + (end == 1 ? found->size() : 0);
        const std::string_view text = a.text(0);
        const auto bytes = static_cast<size_t>(at - text.data());
        return static_cast<int32_t>(count_characters(text.substr(0, bytes)) + 1);
      });
}

NodePtr make_regex_count(std::vector<NodePtr> children, const QueryLimits& limits) {
  return make_row_node<int32_t>(
      PhysicalType::kInt32, std::move(children), limits,
      [compiled = CompiledRegex(limits)](const RowArguments& a, VectorTexts*) mutable {
        const size_t first = first_byte(a, 2);
        const RegexFlags flags = flags_without_global(a.text(3), "regexp_count");
        int32_t count = 0;
        for_matches(compiled.of(a.text(1), flags), a.text(0), first, compiled.countdown(),
                    [&](const RegexGroups&) { return ++count != 0; });
        return count;
      });
}

NodePtr make_regex_match(std::vector<NodePtr> children, const QueryLimits& limits, bool any_case) {
  return make_row_node<uint8_t>(
      PhysicalType::kBool, std::move(children), limits,
      [any_case, compiled = CompiledRegex(limits)](const RowArguments& a, VectorTexts*) mutable {
        return static_cast<uint8_t>(
            regex_matches(compiled.of(a.text(1), {.any_case = any_case}), a.text(0)));
      });
}

NodePtr make_regex_like(std::vector<NodePtr> children, const QueryLimits& limits) {
  return make_row_node<uint8_t>(
      PhysicalType::kBool, std::move(children), limits,
      [compiled = CompiledRegex(limits)](const RowArguments& a, VectorTexts*) mutable {
        const RegexFlags flags = flags_without_global(a.text(2), "regexp_like");
        return static_cast<uint8_t>(regex_matches(compiled.of(a.text(1), flags), a.text(0)));
      });
}

template <class T>
T value_of(base::Result<T> result) {
  if (!result) fail_value(result.error().message, result.error().state);
  return *std::move(result);
}

// The last SQL pattern's parts stay compiled.
class CompiledSimilar {
 public:
  explicit CompiledSimilar(const QueryLimits& limits)
      : countdown_(limits.stop),
        whole_(limits),
        before_(limits),
        rest_(limits),
        wanted_(limits),
        after_(limits) {}

  void take(std::string_view pattern, std::string_view escape) {
    if (is_taken_ && pattern == pattern_ && escape == escape_) return;
    is_taken_ = false;
    parts_ = value_of(similar_parts(pattern, escape));
    pattern_ = pattern;
    escape_ = escape;
    is_taken_ = true;
  }

  // The text between the separators: `before` takes as little as it can, then `wanted` as much.
  // Where the whole does not match, that is known in one pass; else each place is tried.
  std::optional<std::string_view> wanted(std::string_view text) {
    if (!matches(&whole_, parts_.whole(), text)) return std::nullopt;
    const std::string rest = SimilarParts{{}, parts_.wanted, parts_.after}.whole();
    size_t begin = 0;
    while (!matches(&before_, anchored(parts_.before), text.substr(0, begin)) ||
           !matches(&rest_, rest, text.substr(begin))) {
      ++begin;
    }
    size_t end = text.size();
    while (!matches(&after_, anchored(parts_.after), text.substr(end)) ||
           !matches(&wanted_, anchored(parts_.wanted), text.substr(begin, end - begin))) {
      --end;
    }
    return text.substr(begin, end - begin);
  }

 private:
  static std::string anchored(const std::string& part) {
    return SimilarParts{{}, part, {}}.whole();
  }

  bool matches(CompiledRegex* compiled, std::string_view regex, std::string_view text) {
    countdown_.pass(text.size() + 1);
    return regex_matches(compiled->of(regex, {}), text);
  }

  StopCountdown countdown_;
  bool is_taken_ = false;
  std::string pattern_;
  std::string escape_;
  SimilarParts parts_;
  CompiledRegex whole_, before_, rest_, wanted_, after_;
};

NodePtr make_similar_substring(std::vector<NodePtr> children, const QueryLimits& limits) {
  return make_row_node<StringRef>(
      PhysicalType::kString, std::move(children), limits,
      [compiled = CompiledSimilar(limits)](const RowArguments& a,
                                           VectorTexts* texts) mutable -> std::optional<StringRef> {
        compiled.take(a.text(1), a.text(2));
        const auto found = compiled.wanted(a.text(0));
        if (!found) return std::nullopt;
        return texts->keep(StringRef(*found));
      });
}

NodePtr make_pattern_text(std::vector<NodePtr> children, const QueryLimits& limits,
                          Function function) {
  return make_row_node<StringRef>(
      PhysicalType::kString, std::move(children), limits,
      [function](const RowArguments& a, VectorTexts* texts) {
        const std::string pattern = function == Function::kLikeEscape
                                        ? value_of(like_with_backslash(a.text(0), a.text(1)))
                                        : value_of(similar_parts(a.text(0), a.text(1))).whole();
        return texts->make([&](CountedText* text) { *text += pattern; });
      });
}

}  // namespace

NodePtr make_regex_function(Function function, std::vector<NodePtr>* children,
                            const QueryLimits& limits) {
  switch (function) {
    case Function::kRegexMatch: return make_regex_match(std::move(*children), limits, false);
    case Function::kRegexMatchAnyCase: return make_regex_match(std::move(*children), limits, true);
    case Function::kRegexLike: return make_regex_like(std::move(*children), limits);
    case Function::kRegexReplace: return make_regex_replace(std::move(*children), limits);
    case Function::kRegexCount: return make_regex_count(std::move(*children), limits);
    case Function::kRegexSubstring: return make_regex_substring(std::move(*children), limits);
    case Function::kRegexMatched: return make_regex_matched(std::move(*children), limits);
    case Function::kRegexPosition: return make_regex_position(std::move(*children), limits);
    case Function::kSimilarSubstring: return make_similar_substring(std::move(*children), limits);
    case Function::kLikeEscape:
    case Function::kSimilarEscape: return make_pattern_text(std::move(*children), limits, function);
    default: return nullptr;
  }
}

}  // namespace diptych::olap
