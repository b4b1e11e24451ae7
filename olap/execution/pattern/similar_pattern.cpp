#include "olap/execution/pattern/similar_pattern.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace diptych::olap {

namespace {

base::Result<void> check_escape(std::string_view escape) {
  const auto is_first = [](char c) { return !base::is_utf8_continuation(c); };
  if (std::count_if(escape.begin(), escape.end(), is_first) <= 1) return {};
  return base::Error(base::ErrorCode::kInvalidArgument, "22025",
                     "an ESCAPE has one character, or none");
}

bool escapes_at(std::string_view pattern, size_t at, std::string_view escape) {
  return !escape.empty() && pattern.substr(at).starts_with(escape);
}

// A regular expression for the character itself, or, of a letter, for what it stands for ("\d").
void append_escaped(char c, std::string* regex) {
  if (static_cast<unsigned char>(c) < 0x80) *regex += '\\';
  *regex += c;
}

void append_unescaped(char c, std::string* regex) {
  switch (c) {
    case '%': *regex += ".*"; return;
    case '_': *regex += '.'; return;
    case '(': *regex += "(?:"; return;
    case '.':
    case '^':
    case '$':
    case '\\': append_escaped(c, regex); return;
    default: *regex += c;
  }
}

}  // namespace

base::Result<std::string> like_with_backslash(std::string_view pattern, std::string_view escape) {
  if (auto checked = check_escape(escape); !checked) return checked.error();
  std::string result;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (!escapes_at(pattern, i, escape)) {
      if (pattern[i] == '\\') result += '\\';
      result += pattern[i];
      continue;
    }
    result += '\\';  // at the pattern's end it escapes nothing: refused as any such pattern
    i += escape.size();
    if (i < pattern.size()) result += pattern[i];
  }
  return result;
}

std::string SimilarParts::whole() const {
  std::string regex = "^";
  for (const std::string* part : {&before, &wanted, &after}) {
    if (!part->empty()) regex += "(?:" + *part + ")";
  }
  return regex + "$";
}

base::Result<SimilarParts> similar_parts(std::string_view pattern, std::string_view escape) {
  if (auto checked = check_escape(escape); !checked) return checked.error();
  constexpr size_t kPartsMax = 3;
  std::vector<std::string> parts(1);
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (escapes_at(pattern, i, escape)) {
      i += escape.size();
      if (i == pattern.size()) break;  // escapes nothing
      if (pattern[i] != '"' || in_class) {
        append_escaped(pattern[i], &parts.back());
      } else if (parts.size() < kPartsMax) {
        parts.emplace_back();
      } else {
        return base::Error(base::ErrorCode::kInvalidArgument, "2200C",
                           "an SQL regular expression has at most two escape-double-quotes");
      }
    } else if (in_class) {
      if (c == '\\') parts.back() += '\\';
      parts.back() += c;
      in_class = c != ']';
    } else {
      in_class = c == '[';
      append_unescaped(c, &parts.back());
    }
  }
  SimilarParts result;
  if (parts.size() > 1) result.before = std::move(parts[0]);
  result.wanted = std::move(parts[parts.size() == 1 ? 0 : 1]);
  if (parts.size() == kPartsMax) result.after = std::move(parts[2]);
  return result;
}

}  // namespace diptych::olap
