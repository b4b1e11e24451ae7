// LikePattern: a compiled LIKE pattern. `%` matches any text, `_` matches one character, and a
// backslash takes the next character literally.
//
// The pattern is cut at each `%` into segments. The first segment is anchored at the text's start
// unless a `%` precedes it, the last at its end unless a `%` follows. The segments between are
// found leftmost, one after the other, which finds every match of LIKE. Exact, prefix, suffix and
// contains patterns are the cases with one segment.
//
// Threads    immutable once built.

#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/string_ref.h"

namespace diptych::olap {

// The size limit of a pattern of LIKE, a regular expression or to_char. Patterns are kept compiled
// and do not count against the memory budget.
inline constexpr size_t kPatternBytesMax = size_t{1} << 20;

class StopCountdown;

class LikePattern {
 public:
  // Fails with kInvalidArgument if the pattern ends with the escape character or is longer than
  // kPatternBytesMax.
  static base::Result<LikePattern> compile(std::string_view pattern);

  // True if matching a text may take time linear in its length.
  bool searches() const { return kind_ == Kind::kContains || kind_ == Kind::kGeneral; }
  // True if the text matches. A long search counts down `stop`, unless it is nullptr. Benchmark:
  // BM_Like.
  bool matches(std::string_view text, StopCountdown* stop = nullptr) const;
  // As above, but does not dereference a long text whose first bytes differ from the prefix.
  bool matches(const base::StringRef& text, StopCountdown* stop = nullptr) const {
    if (first_byte_count_ != 0) {
      if (text.size() < first_byte_count_) return false;
      uint32_t first = 0;
      std::memcpy(&first, text.first_bytes(), sizeof first);
      if ((first & first_mask_) != first_bytes_) return false;
    }
    return matches(text.view(), stop);
  }

 private:
  enum class Kind : uint8_t { kExact, kPrefix, kSuffix, kContains, kGeneral };
  struct Segment {
    std::string bytes;
    std::vector<bool> any;  // any[i]: bytes[i] represents `_`
    bool has_any = false;
  };

  static bool matches_at(const Segment& segment, std::string_view text, size_t at);
  static size_t find(const Segment& segment, std::string_view text, size_t from,
                     StopCountdown* stop);
  bool matches_general(std::string_view text, StopCountdown* stop) const;
  bool matches_characters(std::string_view text, StopCountdown* stop) const;
  void classify();
  void take_first_bytes();

  Kind kind_ = Kind::kExact;
  bool anchored_start_ = true;
  bool anchored_end_ = true;
  // For exact and prefix patterns: up to four bytes with which every match begins.
  uint32_t first_byte_count_ = 0;
  uint32_t first_bytes_ = 0;
  uint32_t first_mask_ = 0;
  bool has_any_ = false;
  std::string pattern_;
  std::vector<Segment> segments_;  // none is empty, except the only segment of pattern ''
};

}  // namespace diptych::olap
