// RowFilter: a predicate whose constants became what the rows of one chunk, or of one array, are
// compared with: codes, words of letters, plain values. Made once, asked run by run.
//
// Rows are asked for by a bitmap and answered in it, so that filters of several columns follow each
// other; 64 rows of which none is wanted any more are not looked at where a row costs something.
//
// Memory    what it was made of stays, and is not written, while it is used.
// Threads   immutable: any number.
// Costs     BM_Narrow of tests/storage/encoding_bench.cpp.

#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/string_ref.h"
#include "storage/encoding/codes.h"
#include "storage/encoding/predicate.h"
#include "storage/encoding/text_set.h"

namespace diptych::storage::encoding {

class RowFilter {
 public:
  virtual ~RowFilter() = default;

  // Clears bit i of bitmap_words(count) words where row first + i does not pass. `first` is a
  // multiple of 64. Bits behind row `count` are 0, and stay so.
  void narrow(uint32_t first, uint32_t count, uint64_t* words) const;

 private:
  // Of at most kVectorRows rows: sets the bits, which are 0, of rows that pass: of all wanted
  // ones, and of others as it likes.
  virtual void select(uint32_t first, uint32_t count, const uint64_t* wanted,
                      uint64_t* passing) const = 0;
};

// What is known of all rows together.
enum class Passes : uint8_t { kNone, kSome, kAll };

// `filter`: nullptr unless `passes` is kSome; and then, if the rows are to be decoded and compared.
struct RowAnswer {
  Passes passes = Passes::kSome;
  std::unique_ptr<RowFilter> filter;

  static RowAnswer all_or_none(bool all) { return {all ? Passes::kAll : Passes::kNone, nullptr}; }
  static RowAnswer only_decoded() { return {}; }
};

// Codes first..last, both included.
struct CodeRange {
  uint64_t first;
  uint64_t last;
};

// The ranges are sorted and disjoint, and no code is above code_max.
RowAnswer filter_codes(Codes codes, uint64_t code_max, std::vector<CodeRange> ranges);

// Of plain values; Value: int32_t, int64_t, double, uint8_t (booleans).
template <class Value>
RowAnswer filter_values(const Value* values, std::span<const KeyRange> ranges);

// True if the key is in one of the ranges, which are sorted and disjoint.
bool in_ranges(std::span<const KeyRange> ranges, int64_t key);

// Of texts that are looked at one by one: text_of(row) is the row's.
template <class TextOf, class Holds>
class TextFilter final : public RowFilter {
 public:
  TextFilter(TextOf text_of, Holds holds)
      : text_of_(std::move(text_of)), holds_(std::move(holds)) {}

 private:
  void select(uint32_t first, uint32_t count, const uint64_t* wanted,
              uint64_t* passing) const override {
    for (uint32_t w = 0; w * 64 < count; ++w) {
      for (uint64_t rest = wanted[w]; rest != 0; rest &= rest - 1) {
        const auto bit = static_cast<uint32_t>(std::countr_zero(rest));
        passing[w] |= uint64_t{holds_(text_of_(first + w * 64 + bit))} << bit;
      }
    }
  }

  TextOf text_of_;
  Holds holds_;
};

// The texts of ranges of one text each; nothing if one holds more.
std::optional<TextSet> as_points(std::span<const TextRange> ranges);

// holds(text_of(row)): whether the row passes.
template <class TextOf, class Holds>
  requires std::is_invocable_r_v<bool, Holds, std::invoke_result_t<TextOf, uint32_t>>
RowAnswer filter_texts(TextOf text_of, Holds holds) {
  return {Passes::kSome,
          std::make_unique<TextFilter<TextOf, Holds>>(std::move(text_of), std::move(holds))};
}
template <class TextOf>
RowAnswer filter_texts(TextOf text_of, std::span<const TextRange> ranges) {
  if (ranges.empty()) return RowAnswer::all_or_none(false);
  if (ranges.size() == 1) {
    return filter_texts(std::move(text_of),
                        [range = ranges[0]](std::string_view text) { return range.holds(text); });
  }
  constexpr size_t kSearchedMax = 4;  // which a search is faster in than a hash of the whole text
  if (std::optional<TextSet> points = as_points(ranges); points && ranges.size() > kSearchedMax) {
    return filter_texts(std::move(text_of), [own = std::move(*points)](std::string_view text) {
      return own.holds(text);
    });
  }
  return filter_texts(std::move(text_of),
                      [own = std::vector(ranges.begin(), ranges.end())](std::string_view text) {
                        return in_ranges(own, text);
                      });
}
template <class TextOf>
RowAnswer filter_texts(TextOf text_of, const Suffix& suffix) {
  return filter_texts(std::move(text_of),
                      [suffix](std::string_view text) { return suffix.holds(text); });
}

}  // namespace diptych::storage::encoding
