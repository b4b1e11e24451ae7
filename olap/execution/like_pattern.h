// LikePattern: a compiled LIKE pattern. `%` matches any text, `_` one character, a backslash
// takes the next character literally.
//
// The pattern is cut at its `%` into segments. The first is anchored at the text's start unless a
// `%` precedes it, the last at its end; those between are found leftmost, one after the other,
// which is complete for LIKE. Exact, prefix, suffix and contains patterns are the cases with one
// segment.
//
// Threads    immutable once built.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace diptych::olap {

class LikePattern {
 public:
  // kInvalidArgument where the pattern ends with the escape character.
  static base::Result<LikePattern> compile(std::string_view pattern);

  // Benchmark: BM_Like.
  bool matches(std::string_view text) const;

 private:
  enum class Kind : uint8_t { kExact, kPrefix, kSuffix, kContains, kGeneral };
  struct Segment {
    std::string bytes;
    std::vector<bool> any;  // any[i]: bytes[i] stands for `_`
    bool has_any = false;
  };

  static bool matches_at(const Segment& segment, std::string_view text, size_t at);
  static size_t find(const Segment& segment, std::string_view text, size_t from);
  bool matches_general(std::string_view text) const;
  bool matches_characters(std::string_view text) const;
  void classify();

  Kind kind_ = Kind::kExact;
  bool anchored_start_ = true;
  bool anchored_end_ = true;
  bool has_any_ = false;
  std::string pattern_;
  std::vector<Segment> segments_;  // none is empty, but the only one of pattern ''
};

}  // namespace diptych::olap
