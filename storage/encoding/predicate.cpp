#include "storage/encoding/predicate.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace diptych::storage::encoding {
namespace {

// The keys of all doubles that equal the constant: two for a zero, else one.
KeyRange keys_equal(double constant) {
  if (constant == 0) return {double_key(-0.0), double_key(0.0)};
  return {double_key(constant), double_key(constant)};
}

std::string behind(std::string_view text) {
  return std::string(text) + '\0';
}

// The first text that is above all with this prefix; none above one of 0xff alone.
std::optional<std::string> behind_prefix(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xff') end.pop_back();
  if (end.empty()) return std::nullopt;
  end.back() = static_cast<char>(static_cast<uint8_t>(end.back()) + 1);
  return end;
}

bool ends_before(const TextRange& range, std::string_view first) {
  return range.end && *range.end < first;
}

// `equal` is the range of what equals the constant.
std::vector<KeyRange> compared(Comparison comparison, KeyRange equal) {
  const bool none_below = equal.first == kKeyMin;
  const bool none_above = equal.last == kKeyMax;
  const auto below = [&] { return KeyRange{kKeyMin, none_below ? 0 : equal.first - 1}; };
  const auto above = [&] { return KeyRange{none_above ? 0 : equal.last + 1, kKeyMax}; };
  std::vector<KeyRange> ranges;
  switch (comparison) {
    case Comparison::kEqual: ranges = {equal}; break;
    case Comparison::kNotEqual:
      if (!none_below) ranges.push_back(below());
      if (!none_above) ranges.push_back(above());
      break;
    case Comparison::kLess:
      if (!none_below) ranges = {below()};
      break;
    case Comparison::kLessEqual: ranges = {{kKeyMin, equal.last}}; break;
    case Comparison::kGreater:
      if (!none_above) ranges = {above()};
      break;
    case Comparison::kGreaterEqual: ranges = {{equal.first, kKeyMax}}; break;
  }
  return ranges;
}

}  // namespace

bool TextRange::is_prefix() const {
  return !first.empty() && end == behind_prefix(first);
}

// Sorted and joined where they overlap or touch; empty ones dropped.
Predicate Predicate::of_keys(std::vector<KeyRange> ranges) {
  std::erase_if(ranges, [](const KeyRange& range) { return range.first > range.last; });
  std::sort(ranges.begin(), ranges.end(),
            [](const KeyRange& a, const KeyRange& b) { return a.first < b.first; });
  Predicate predicate(Question::kKeys);
  for (const KeyRange& range : ranges) {
    auto& joined = predicate.keys_;
    if (!joined.empty() &&
        (joined.back().last == kKeyMax || range.first <= joined.back().last + 1)) {
      joined.back().last = std::max(joined.back().last, range.last);
    } else {
      joined.push_back(range);
    }
  }
  return predicate;
}

Predicate Predicate::of_texts(std::vector<TextRange> ranges) {
  std::erase_if(ranges,
                [](const TextRange& range) { return range.end && *range.end <= range.first; });
  std::sort(ranges.begin(), ranges.end(),
            [](const TextRange& a, const TextRange& b) { return a.first < b.first; });
  Predicate predicate(Question::kTexts);
  for (TextRange& range : ranges) {
    auto& joined = predicate.texts_;
    if (joined.empty() || ends_before(joined.back(), range.first)) {
      joined.push_back(std::move(range));
    } else if (!range.end || (joined.back().end && *joined.back().end < *range.end)) {
      joined.back().end = std::move(range.end);
    }
  }
  return predicate;
}

Predicate Predicate::compare(Comparison comparison, int64_t constant) {
  return of_keys(compared(comparison, {constant, constant}));
}

Predicate Predicate::compare(Comparison comparison, double constant) {
  return of_keys(compared(comparison, keys_equal(constant)));
}

Predicate Predicate::compare(Comparison comparison, std::string_view constant) {
  std::string equal(constant);
  std::string above = behind(constant);
  switch (comparison) {
    case Comparison::kEqual: return of_texts({{equal, above}});
    case Comparison::kNotEqual: return of_texts({{"", equal}, {above, std::nullopt}});
    case Comparison::kLess: return of_texts({{"", equal}});
    case Comparison::kLessEqual: return of_texts({{"", above}});
    case Comparison::kGreater: return of_texts({{above, std::nullopt}});
    case Comparison::kGreaterEqual: break;
  }
  return of_texts({{equal, std::nullopt}});
}

Predicate Predicate::between(int64_t low, int64_t high) {
  return of_keys({{low, high}});
}

Predicate Predicate::between(double low, double high) {
  return of_keys({{keys_equal(low).first, keys_equal(high).last}});
}

Predicate Predicate::between(std::string_view low, std::string_view high) {
  return of_texts({{std::string(low), behind(high)}});
}

Predicate Predicate::in(std::span<const int64_t> constants) {
  std::vector<KeyRange> ranges;
  for (const int64_t constant : constants) ranges.push_back({constant, constant});
  return of_keys(std::move(ranges));
}

Predicate Predicate::in(std::span<const double> constants) {
  std::vector<KeyRange> ranges;
  for (const double constant : constants) ranges.push_back(keys_equal(constant));
  return of_keys(std::move(ranges));
}

Predicate Predicate::in(std::span<const std::string_view> constants) {
  std::vector<TextRange> ranges;
  for (const std::string_view constant : constants) {
    ranges.push_back({std::string(constant), behind(constant)});
  }
  return of_texts(std::move(ranges));
}

Predicate Predicate::prefix(std::string_view prefix) {
  return of_texts({{std::string(prefix), behind_prefix(prefix)}});
}

Predicate Predicate::suffix(std::string_view suffix) {
  Predicate predicate(Question::kSuffix);
  predicate.suffix_.text = suffix;
  return predicate;
}

Predicate Predicate::complement() const {
  switch (question_) {
    case Question::kSuffix: {
      Predicate other = *this;
      other.suffix_.negated = !suffix_.negated;
      return other;
    }
    case Question::kIsNull: return is_not_null();
    case Question::kIsNotNull: return is_null();
    case Question::kKeys: {
      std::vector<KeyRange> gaps;
      int64_t next = kKeyMin;
      for (const KeyRange& range : keys_) {
        if (range.first > next) gaps.push_back({next, range.first - 1});
        if (range.last == kKeyMax) return of_keys(std::move(gaps));
        next = range.last + 1;
      }
      gaps.push_back({next, kKeyMax});
      return of_keys(std::move(gaps));
    }
    case Question::kTexts: break;
  }
  std::vector<TextRange> gaps;
  std::string next;
  for (const TextRange& range : texts_) {
    gaps.push_back({next, range.first});
    if (!range.end) return of_texts(std::move(gaps));
    next = *range.end;
  }
  gaps.push_back({next, std::nullopt});
  return of_texts(std::move(gaps));
}

std::optional<Predicate> Predicate::any_of(std::span<const Predicate> parts) {
  DIPTYCH_CHECK(!parts.empty(), "what is put together has at least one part");
  const Question question = parts[0].question_;
  std::vector<KeyRange> keys;
  std::vector<TextRange> texts;
  for (const Predicate& part : parts) {
    if (part.question_ != question) return std::nullopt;
    keys.insert(keys.end(), part.keys_.begin(), part.keys_.end());
    texts.insert(texts.end(), part.texts_.begin(), part.texts_.end());
  }
  if (question == Question::kKeys) return of_keys(std::move(keys));
  if (question == Question::kTexts) return of_texts(std::move(texts));
  return std::nullopt;
}

std::optional<Predicate> Predicate::all_of(std::span<const Predicate> parts) {
  std::vector<Predicate> complements;
  complements.reserve(parts.size());
  for (const Predicate& part : parts) complements.push_back(part.complement());
  const std::optional<Predicate> fails = any_of(complements);
  if (!fails) return std::nullopt;
  return fails->complement();
}

bool in_ranges(std::span<const TextRange> ranges, std::string_view text) {
  const auto above = std::upper_bound(
      ranges.begin(), ranges.end(), text,
      [](std::string_view value, const TextRange& range) { return value < range.first; });
  if (above == ranges.begin()) return false;
  const TextRange& range = *std::prev(above);
  return !range.end || text < *range.end;
}

}  // namespace diptych::storage::encoding
