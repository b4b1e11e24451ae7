#include "olap/execution/star/value_classes.h"

#include <algorithm>

#include "base/check.h"

namespace diptych::olap {

namespace {

constexpr size_t kDirectValuesMax = 4096;

// Masks in which every query is, class by class.
std::vector<uint64_t> full_masks(size_t classes, size_t words) {
  return std::vector<uint64_t>(classes * words, ~uint64_t{0});
}

void take_query_out(uint64_t* mask, uint32_t query, size_t first_word) {
  mask[query / 64 - first_word] &= ~(uint64_t{1} << (query % 64));
}

std::vector<size_t> acting_words(const std::vector<uint64_t>& masks, size_t words) {
  std::vector<size_t> acting;
  for (size_t w = 0; w < words; ++w) {
    uint64_t all = ~uint64_t{0};
    for (size_t at = w; at < masks.size(); at += words) all &= masks[at];
    if (all != ~uint64_t{0}) acting.push_back(w);
  }
  return acting;
}

// The least and the greatest value of rows, of which there is one.
template <class T>
std::pair<T, T> extremes(const T* values, const Selection& rows) {
  T min = values[rows.row(0)];
  T max = min;
  if (rows.all()) {
    for (uint32_t i = 1, slots = rows.slots; i < slots; ++i) min = std::min(min, values[i]);
    for (uint32_t i = 1, slots = rows.slots; i < slots; ++i) max = std::max(max, values[i]);
  } else {
    for (uint32_t k = 1, count = rows.count; k < count; ++k) {
      min = std::min(min, values[rows.rows[k]]);
      max = std::max(max, values[rows.rows[k]]);
    }
  }
  return {min, max};
}

}  // namespace

void RangeClasses::add(uint32_t query, int64_t min, int64_t max) {
  Interval& interval = intervals_[query];
  interval.min = std::max(interval.min, min);
  interval.max = std::min(interval.max, max);
}

void RangeClasses::finish(size_t first_word, size_t words) {
  words_ = words;
  for (const auto& [query, interval] : intervals_) {
    if (interval.min > interval.max) continue;
    if (interval.min != INT64_MIN) bounds_.push_back(interval.min);
    if (interval.max != INT64_MAX) bounds_.push_back(interval.max + 1);
  }
  std::sort(bounds_.begin(), bounds_.end());
  bounds_.erase(std::unique(bounds_.begin(), bounds_.end()), bounds_.end());
  DIPTYCH_CHECK(bounds_.size() < UINT16_MAX, "a batch has fewer queries than classes have numbers");
  masks_ = full_masks(bounds_.size() + 2, words);
  for (const auto& [query, interval] : intervals_) {
    for (size_t k = 0; k <= bounds_.size(); ++k) {
      const int64_t first = k == 0 ? INT64_MIN : bounds_[k - 1];
      const int64_t last = k == bounds_.size() ? INT64_MAX : bounds_[k] - 1;
      if (interval.min <= first && last <= interval.max) continue;
      take_query_out(masks_.data() + k * words, query, first_word);
    }
    take_query_out(masks_.data() + null_class() * words, query, first_word);
  }
  acting_ = acting_words(masks_, words);
  for (size_t w = 0; w < words; ++w) asking_.push_back(~mask(null_class())[w]);
  if (bounds_.empty()) return;
  const uint64_t span =
      static_cast<uint64_t>(bounds_.back()) - static_cast<uint64_t>(bounds_.front());
  if (span >= kDirectValuesMax) return;
  direct_min_ = bounds_.front() - 1;  // no bound is the least number
  for (uint64_t i = 0; i <= span + 1; ++i) {
    direct_.push_back(class_of(direct_min_ + static_cast<int64_t>(i)));
  }
}

// A search whose steps do not depend on what is found: the number of bounds that are <= value.
uint16_t RangeClasses::class_of(int64_t value) const {
  size_t low = 0;
  for (size_t left = bounds_.size(); left != 0;) {
    const size_t half = (left + 1) / 2;
    low += bounds_[low + half - 1] <= value ? half : 0;
    left -= half;
  }
  return static_cast<uint16_t>(low);
}

template <class T>
void RangeClasses::find_classes(const T* values, const Selection& rows, uint16_t* classes) const {
  if (direct_.empty()) {
    for_selected(rows, [&](uint32_t i) { classes[i] = class_of(values[i]); });
    return;
  }
  const uint16_t* const direct = direct_.data();
  const int64_t min = direct_min_;
  const int64_t max = direct_min_ + static_cast<int64_t>(direct_.size()) - 1;
  for_selected(rows, [&](uint32_t i) {
    classes[i] = direct[std::clamp<int64_t>(values[i], min, max) - min];
  });
}

void RangeClasses::keep_leaf(const storage::ColumnSummary& summary, uint64_t* queries) const {
  if (!summary.known) return;
  std::vector<uint64_t> any(words_, 0);
  const auto join = [&](size_t of_class) {
    for (size_t w = 0; w < words_; ++w) any[w] |= mask(of_class)[w];
  };
  if (summary.min <= summary.max) {
    const uint16_t last = class_of(summary.max);
    for (uint16_t k = class_of(summary.min); k <= last; ++k) join(k);
  }
  if (summary.has_null) join(null_class());
  for (size_t w = 0; w < words_; ++w) queries[w] &= any[w];
}

// Rows of one vector are mostly of one class: times and keys come in order. So the least and the
// greatest value are looked at first, and what is null by words.
template <class T>
void RangeClasses::apply_to(const T* values, const Vector& vector, const Selection& live,
                            QueryRows* rows) const {
  Selection valued;
  const Selection* with_value = &live;
  if (vector.nulls != nullptr) {
    uint64_t bits[kVectorWords];
    for (uint32_t w = 0; w < words_of(live.slots); ++w) bits[w] = live.bits[w] & ~vector.nulls[w];
    select_bits(bits, live.slots, &valued);
    with_value = &valued;
    if (valued.count == 0) return rows->keep(mask(null_class()), live.slots);
  }
  const auto [min, max] = extremes(values, *with_value);
  const uint16_t lowest = class_of(min);
  if (lowest == class_of(max)) {
    rows->keep(mask(lowest), live.slots);
    if (with_value->count != live.count) {
      rows->drop_where_false(with_value->bits, asking_.data(), live.slots);
    }
    return;
  }
  uint16_t classes[kVectorRows];
  std::fill_n(classes, live.slots, static_cast<uint16_t>(null_class()));
  find_classes(values, *with_value, classes);
  rows->keep_by_class(masks_.data(), acting_, classes, live.slots);
}

void RangeClasses::apply(const Vector& values, const Selection& live, QueryRows* rows) const {
  if (live.count == 0) return;
  if (values.type == PhysicalType::kInt32) {
    apply_to(values.as<int32_t>(), values, live, rows);
  } else {
    DIPTYCH_CHECK(values.type == PhysicalType::kInt64, "ranges are of integers");
    apply_to(values.as<int64_t>(), values, live, rows);
  }
}

std::optional<PrefixClasses::Prefix> PrefixClasses::prefix_of(const Expression& predicate) {
  const Expression* like = &predicate;
  const bool negated = like->kind == ExpressionKind::kNot;
  if (negated) like = like->children[0].get();
  if (like->kind != ExpressionKind::kLike || like->children[0]->kind != ExpressionKind::kColumn ||
      like->children[1]->kind != ExpressionKind::kLiteral) {
    return std::nullopt;
  }
  const auto* const pattern = std::get_if<std::string>(&like->children[1]->literal);
  if (pattern == nullptr || pattern->size() < 2 || pattern->size() > kPrefixBytesMax + 1 ||
      pattern->find_first_of("%_\\") != pattern->size() - 1 || pattern->back() != '%') {
    return std::nullopt;
  }
  return Prefix{like->children[0]->column, pattern->substr(0, pattern->size() - 1), negated};
}

void PrefixClasses::add(uint32_t query, const Prefix& prefix) {
  wishes_.push_back({query, prefix});
}

void PrefixClasses::finish(size_t first_word, size_t words) {
  for (const Wish& wish : wishes_) {
    auto& classes = lengths_[wish.prefix.bytes.size() - 1].classes;
    classes.try_emplace(wish.prefix.bytes, static_cast<uint16_t>(classes.size() + 1));
  }
  for (size_t l = 0; l < kPrefixBytesMax; ++l) {
    Length& length = lengths_[l];
    if (length.classes.empty()) continue;
    length.masks = full_masks(length.classes.size() + 2, words);
    length.by_bytes.assign(size_t{1} << (8 * (l + 1)), 0);
    for (const auto& [bytes, number] : length.classes) {
      size_t index = 0;
      for (const char byte : bytes) index = index << 8 | static_cast<uint8_t>(byte);
      length.by_bytes[index] = number;
    }
  }
  for (const Wish& wish : wishes_) {
    Length& length = lengths_[wish.prefix.bytes.size() - 1];
    const uint16_t own = length.classes.at(wish.prefix.bytes);
    const size_t nulls = length.classes.size() + 1;
    for (size_t k = 0; k <= nulls; ++k) {
      if (k == nulls || (k == own) == wish.prefix.negated) {
        take_query_out(length.masks.data() + k * words, wish.query, first_word);
      }
    }
  }
  for (Length& length : lengths_) length.acting = acting_words(length.masks, words);
}

void PrefixClasses::apply(const Vector& texts, const Selection& live, QueryRows* rows) const {
  const auto* const values = texts.as<base::StringRef>();
  uint16_t classes[kVectorRows] = {};
  for (size_t l = 0; l < kPrefixBytesMax; ++l) {
    const Length& length = lengths_[l];
    if (length.classes.empty()) continue;
    const auto nulls = static_cast<uint16_t>(length.classes.size() + 1);
    for_selected(live, [&](uint32_t i) {
      if (texts.is_null(i)) {
        classes[i] = nulls;
        return;
      }
      const auto* const bytes = reinterpret_cast<const uint8_t*>(values[i].first_bytes());
      if (values[i].size() <= l) {
        classes[i] = 0;
      } else {
        classes[i] = length.by_bytes[l == 0 ? bytes[0] : size_t{bytes[0]} << 8 | bytes[1]];
      }
    });
    rows->keep_by_class(length.masks.data(), length.acting, classes, live.slots);
  }
}

}  // namespace diptych::olap
