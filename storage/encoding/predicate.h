// Predicate: a test of one column against constants, as ranges of its order.
//
// Every comparison, BETWEEN, IN and prefix LIKE is a set of values that are neighbours in the
// column's order: some ranges. So an encoding that keeps the order, and most do, turns them into
// ranges of its codes and decodes nothing.
//
//   = c         [c, c]                 IN            a range a value, neighbours as one
//   <> c        [min, c-1] [c+1, max]  LIKE 'ab%'    ["ab", "ac")
//   BETWEEN     [a, b]                 IS [NOT] NULL no ranges: a question to the null map
//
// LIKE '%ab' is no range, and a question of its own.
//
// As in SQL, a null value passes IS NULL alone, also where the ranges were complemented.
// Constants that no value of the column can have (above INT's maximum, say) are allowed.
//
// Doubles compare as in PostgreSQL: -0 equals 0; NaN equals NaN and is above everything.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/encoding/column.h"

namespace diptych::storage::encoding {

enum class Comparison : uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };

struct KeyRange {  // of numbers: both ends included
  int64_t first;
  int64_t last;
};

struct TextRange {  // [first, end); no end: everything from first on
  std::string first;
  std::optional<std::string> end;

  bool holds(std::string_view text) const { return text >= first && (!end || text < *end); }
  // True where one text alone is in the range: [s, s + "\0").
  bool is_point() const {
    return end && end->size() == first.size() + 1 && end->back() == '\0' &&
           end->compare(0, first.size(), first) == 0;
  }
  // True where it holds the texts that begin with `first`, which is not empty.
  bool is_prefix() const;
};

// Which texts end so; `negated`: which do not.
struct Suffix {
  std::string text;
  bool negated = false;

  // Most texts end in another byte: those take no call.
  bool holds(std::string_view whole) const {
    const bool may_end = text.empty() || (!whole.empty() && whole.back() == text.back());
    return (may_end && whole.ends_with(text)) != negated;
  }
};

class Predicate {
 public:
  enum class Question : uint8_t { kKeys, kTexts, kSuffix, kIsNull, kIsNotNull };

  // Of integers, decimals (scaled), dates, timestamps and booleans.
  static Predicate compare(Comparison comparison, int64_t constant);
  static Predicate compare(Comparison comparison, double constant);
  static Predicate compare(Comparison comparison, std::string_view constant);
  static Predicate between(int64_t low, int64_t high);  // both included; low > high: nothing passes
  static Predicate between(double low, double high);
  static Predicate between(std::string_view low, std::string_view high);
  static Predicate in(std::span<const int64_t> constants);
  static Predicate in(std::span<const double> constants);
  static Predicate in(std::span<const std::string_view> constants);
  static Predicate prefix(std::string_view prefix);  // LIKE 'prefix%'
  static Predicate suffix(std::string_view suffix);  // LIKE '%suffix'
  static Predicate is_null() { return Predicate(Question::kIsNull); }
  static Predicate is_not_null() { return Predicate(Question::kIsNotNull); }

  // NOT: every value that is not null passes one of the two.
  Predicate complement() const;
  // OR, and AND, of all, at least one, where they are all of keys or all of texts; else nothing.
  // They are sorted once, however many there are.
  static std::optional<Predicate> any_of(std::span<const Predicate> parts);
  static std::optional<Predicate> all_of(std::span<const Predicate> parts);

  Question question() const { return question_; }
  // Sorted; disjoint; no two adjacent ones.
  const std::vector<KeyRange>& keys() const { return keys_; }
  const std::vector<TextRange>& texts() const { return texts_; }
  const Suffix& suffix() const { return suffix_; }

 private:
  explicit Predicate(Question question) : question_(question) {}
  static Predicate of_keys(std::vector<KeyRange> ranges);
  static Predicate of_texts(std::vector<TextRange> ranges);

  Question question_;
  std::vector<KeyRange> keys_;
  std::vector<TextRange> texts_;
  Suffix suffix_;
};

// True if the text is in one of the ranges, which are sorted and disjoint.
bool in_ranges(std::span<const TextRange> ranges, std::string_view text);

}  // namespace diptych::storage::encoding
