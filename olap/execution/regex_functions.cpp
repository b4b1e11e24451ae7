// Functions of regular expressions, which are RE2's: make_regex_function of row_functions.h.
//
// Of several matches at a place PostgreSQL takes the longest one, and so do these, unless the
// expression has a quantifier that is not greedy.

#include <array>
#include <memory>
#include <optional>
#include <string>

#include <re2/re2.h>

#include "olap/execution/query_failure.h"
#include "olap/execution/row_node.h"
#include "olap/execution/utf8_text.h"

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

struct RegexFlags {
  bool any_case = false;
  bool global = false;
};

RegexFlags flags_of(std::string_view letters) {
  RegexFlags flags;
  for (const char letter : letters) {
    if (letter == 'g') {
      flags.global = true;
    } else if (letter == 'i' || letter == 'c') {
      flags.any_case = letter == 'i';
    } else {
      fail_value("invalid regular expression option: \"" + std::string(1, letter) + "\"", "22023");
    }
  }
  return flags;
}

// The last expression stays compiled: most are literals.
class CompiledRegex {
 public:
  const RE2& of(std::string_view pattern, bool any_case) {
    if (regex_ != nullptr && regex_->pattern() == pattern && any_case_ == any_case) return *regex_;
    RE2::Options options;
    options.set_log_errors(false);
    options.set_case_sensitive(!any_case);
    options.set_dot_nl(true);
    options.set_longest_match(!has_reluctant_quantifier(pattern));
    options.set_max_mem(int64_t{8} << 20);
    regex_ = std::make_unique<RE2>(piece(pattern), options);
    any_case_ = any_case;
    if (!regex_->ok()) fail_value("invalid regular expression: " + regex_->error(), "2201B");
    return *regex_;
  }

 private:
  std::unique_ptr<RE2> regex_;
  bool any_case_ = false;
};

bool regex_matches(const RE2& regex, std::string_view text) {
  return RE2::PartialMatch(piece(text), regex);
}

constexpr int kGroupsMax = 10;  // the match itself, and \1 to \9
using RegexGroups = std::array<re2::StringPiece, kGroupsMax>;

// Calls visit(groups) for one match after the other, none overlapping, until it returns false.
template <class Visit>
void for_matches(const RE2& regex, std::string_view text, const Visit& visit) {
  const int groups_wanted = std::min(regex.NumberOfCapturingGroups() + 1, kGroupsMax);
  for (size_t at = 0; at <= text.size();) {
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
                        std::string* result) {
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

// The text with the first match, or all, replaced.
void replace_matches(const RE2& regex, std::string_view text, std::string_view replacement,
                     bool all, std::string* result) {
  size_t copied = 0;
  for_matches(regex, text, [&](const RegexGroups& groups) {
    const auto begin = static_cast<size_t>(groups[0].data() - text.data());
    *result += text.substr(copied, begin - copied);
    append_replacement(replacement, groups, result);
    require_text_size(result->size());
    copied = begin + groups[0].size();
    return all;
  });
  *result += text.substr(copied);
}

NodePtr make_regex_replace(std::vector<NodePtr> children) {
  return make_row_node<StringRef>(PhysicalType::kString, std::move(children),
                                  [compiled = CompiledRegex(), result = std::string()](
                                      const RowArguments& a, QueryHeap* heap) mutable {
                                    const RegexFlags flags = flags_of(a.text(3));
                                    result.clear();
                                    replace_matches(compiled.of(a.text(1), flags.any_case),
                                                    a.text(0), a.text(2), flags.global, &result);
                                    return heap->keep(StringRef(result));
                                  });
}

NodePtr make_regex_substring(std::vector<NodePtr> children, bool of_group) {
  return make_row_node<StringRef>(
      PhysicalType::kString, std::move(children),
      [of_group, compiled = CompiledRegex()](const RowArguments& a,
                                             QueryHeap* heap) mutable -> std::optional<StringRef> {
        const RE2& regex = compiled.of(a.text(1), false);
        std::optional<StringRef> found;
        for_matches(regex, a.text(0), [&](const RegexGroups& groups) {
          const bool group = of_group && regex.NumberOfCapturingGroups() > 0;
          const re2::StringPiece& part = groups[group ? 1 : 0];
          if (part.data() != nullptr) {
            found = heap->keep(StringRef(std::string_view(part.data(), part.size())));
          }
          return false;
        });
        return found;
      });
}

NodePtr make_regex_count(std::vector<NodePtr> children) {
  return make_row_node<int32_t>(
      PhysicalType::kInt32, std::move(children),
      [compiled = CompiledRegex()](const RowArguments& a, QueryHeap*) mutable {
        int32_t count = 0;
        for_matches(compiled.of(a.text(1), false), a.text(0),
                    [&](const RegexGroups&) { return ++count != 0; });
        return count;
      });
}

NodePtr make_regex_match(std::vector<NodePtr> children, bool any_case) {
  return make_row_node<uint8_t>(
      PhysicalType::kBool, std::move(children),
      [any_case, compiled = CompiledRegex()](const RowArguments& a, QueryHeap*) mutable {
        return static_cast<uint8_t>(regex_matches(compiled.of(a.text(1), any_case), a.text(0)));
      });
}

NodePtr make_regex_like(std::vector<NodePtr> children) {
  return make_row_node<uint8_t>(
      PhysicalType::kBool, std::move(children),
      [compiled = CompiledRegex()](const RowArguments& a, QueryHeap*) mutable {
        const RegexFlags flags = flags_of(a.text(2));
        if (flags.global)
          fail_value("regexp_like() does not support the \"global\" option", "22023");
        return static_cast<uint8_t>(
            regex_matches(compiled.of(a.text(1), flags.any_case), a.text(0)));
      });
}

}  // namespace

NodePtr make_regex_function(Function function, std::vector<NodePtr>* children) {
  switch (function) {
    case Function::kRegexMatch: return make_regex_match(std::move(*children), false);
    case Function::kRegexMatchAnyCase: return make_regex_match(std::move(*children), true);
    case Function::kRegexLike: return make_regex_like(std::move(*children));
    case Function::kRegexReplace: return make_regex_replace(std::move(*children));
    case Function::kRegexCount: return make_regex_count(std::move(*children));
    case Function::kRegexSubstring: return make_regex_substring(std::move(*children), true);
    case Function::kRegexMatched: return make_regex_substring(std::move(*children), false);
    default: return nullptr;
  }
}

}  // namespace diptych::olap
