#include "storage/encoding/row_filter.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "storage/encoding/code_kernels.h"

namespace diptych::storage::encoding {
namespace {

// Up to so many ranges, a pass a range over the codes; beyond, a look-up a code.
constexpr size_t kPassesMax = 4;
constexpr uint64_t kMembersMax = 1U << 18;  // codes that a bitmap of members may have

bool holds_code(std::span<const CodeRange> ranges, uint64_t code) {
  const auto behind =
      std::upper_bound(ranges.begin(), ranges.end(), code,
                       [](uint64_t value, const CodeRange& range) { return value < range.first; });
  return behind != ranges.begin() && code <= std::prev(behind)->last;
}

template <class Lane>
void select_in(const Lane* values, uint32_t count, std::span<const CodeRange> ranges,
               uint64_t* passing) {
  for (const CodeRange& range : ranges) {
    select_range(values, count, static_cast<Lane>(range.first), static_cast<Lane>(range.last),
                 passing);
  }
}

class CodeFilter final : public RowFilter {
 public:
  CodeFilter(Codes codes, std::vector<CodeRange> ranges)
      : codes_(codes), ranges_(std::move(ranges)) {
    if (ranges_.size() <= kPassesMax || ranges_.back().last >= kMembersMax) return;
    members_.resize(ranges_.back().last / 64 + 1);
    for (const CodeRange& range : ranges_) {
      for (uint64_t code = range.first; code <= range.last; ++code) {
        members_[code / 64] |= uint64_t{1} << (code % 64);
      }
    }
  }

 private:
  void select(uint32_t first, uint32_t count, const uint64_t* wanted,
              uint64_t* passing) const override {
    if (ranges_.size() > kPassesMax) return select_each(first, count, wanted, passing);
    const auto* const data = codes_.data + uint64_t{first} * codes_.bits / 8;
    const auto select_as = [&](auto lane) {
      select_in(reinterpret_cast<const decltype(lane)*>(data), count, ranges_, passing);
    };
    const auto unpack_as = [&](auto lane) {
      decltype(lane) unpacked[kVectorRows];
      decode_codes(codes_, first, count, lane, unpacked);
      select_in(unpacked, count, ranges_, passing);
    };
    switch (codes_.bits) {
      case 8: return select_as(uint8_t{});
      case 16: return select_as(uint16_t{});
      case 32: return select_as(uint32_t{});
      default: return codes_.bits <= 25 ? unpack_as(uint32_t{}) : unpack_as(uint64_t{});
    }
  }
  void select_each(uint32_t first, uint32_t count, const uint64_t* wanted,
                   uint64_t* passing) const {
    for (uint32_t w = 0; w * 64 < count; ++w) {
      for (uint64_t rest = wanted[w]; rest != 0; rest &= rest - 1) {
        const auto bit = static_cast<uint32_t>(std::countr_zero(rest));
        passing[w] |= uint64_t{holds(codes_[first + w * 64 + bit])} << bit;
      }
    }
  }
  bool holds(uint64_t code) const {
    if (members_.empty()) return holds_code(ranges_, code);
    return code / 64 < members_.size() && ((members_[code / 64] >> (code % 64)) & 1) != 0;
  }

  Codes codes_;
  std::vector<CodeRange> ranges_;
  std::vector<uint64_t> members_;  // of many ranges, where their codes are few
};

// Signed or unsigned: select_range() compares differences.
template <class Value>
class ValueFilter final : public RowFilter {
 public:
  ValueFilter(const Value* values, std::span<const KeyRange> ranges) : values_(values) {
    using Key = std::conditional_t<std::is_same_v<Value, double>, int64_t, Value>;
    using Limits = std::numeric_limits<Key>;
    for (const KeyRange& range : ranges) {
      if (range.first > int64_t{Limits::max()} || range.last < int64_t{Limits::min()}) continue;
      ranges_.push_back({std::max(range.first, int64_t{Limits::min()}),
                         std::min(range.last, int64_t{Limits::max()})});
    }
  }
  bool is_empty() const { return ranges_.empty(); }

 private:
  void select(uint32_t first, uint32_t count, const uint64_t* wanted,
              uint64_t* passing) const override {
    if (ranges_.size() > kPassesMax) return select_each(first, count, wanted, passing);
    if constexpr (std::is_same_v<Value, double>) {
      int64_t keys[kVectorRows];
      for (uint32_t i = 0; i < count; ++i) keys[i] = double_key(values_[first + i]);
      select_lanes(keys, count, passing);
    } else {
      select_lanes(values_ + first, count, passing);
    }
  }
  template <class Key>
  void select_lanes(const Key* keys, uint32_t count, uint64_t* passing) const {
    using Lane = std::make_unsigned_t<Key>;
    for (const KeyRange& range : ranges_) {
      select_range(reinterpret_cast<const Lane*>(keys), count, static_cast<Lane>(range.first),
                   static_cast<Lane>(range.last), passing);
    }
  }
  void select_each(uint32_t first, uint32_t count, const uint64_t* wanted,
                   uint64_t* passing) const {
    const auto key = [](Value value) {
      if constexpr (std::is_same_v<Value, double>) {
        return double_key(value);
      } else {
        return int64_t{value};
      }
    };
    for (uint32_t w = 0; w * 64 < count; ++w) {
      for (uint64_t rest = wanted[w]; rest != 0; rest &= rest - 1) {
        const auto bit = static_cast<uint32_t>(std::countr_zero(rest));
        passing[w] |= uint64_t{in_ranges(ranges_, key(values_[first + w * 64 + bit]))} << bit;
      }
    }
  }

  const Value* values_;
  std::vector<KeyRange> ranges_;
};

}  // namespace

void RowFilter::narrow(uint32_t first, uint32_t count, uint64_t* words) const {
  uint64_t passing[kVectorRows / 64];
  for (uint32_t done = 0; done < count; done += kVectorRows, words += kVectorRows / 64) {
    const uint32_t run = std::min(kVectorRows, count - done);
    const uint32_t run_words = (run + 63) / 64;
    if (std::all_of(words, words + run_words, [](uint64_t word) { return word == 0; })) continue;
    std::fill_n(passing, run_words, 0);
    select(first + done, run, words, passing);
    for (uint32_t w = 0; w < run_words; ++w) words[w] &= passing[w];
  }
}

RowAnswer filter_codes(Codes codes, uint64_t code_max, std::vector<CodeRange> ranges) {
  // A chunk from a file may have a dictionary that is longer than its codes are wide.
  code_max = std::min(code_max, (uint64_t{1} << codes.bits) - 1);
  while (!ranges.empty() && ranges.back().first > code_max) ranges.pop_back();
  if (!ranges.empty()) ranges.back().last = std::min(ranges.back().last, code_max);
  if (ranges.empty()) return RowAnswer::all_or_none(false);
  if (ranges.front().first == 0 && ranges.front().last >= code_max) {
    return RowAnswer::all_or_none(true);
  }
  return {Passes::kSome, std::make_unique<CodeFilter>(codes, std::move(ranges))};
}

template <class Value>
RowAnswer filter_values(const Value* values, std::span<const KeyRange> ranges) {
  auto filter = std::make_unique<ValueFilter<Value>>(values, ranges);
  if (filter->is_empty()) return RowAnswer::all_or_none(false);
  return {Passes::kSome, std::move(filter)};
}
template RowAnswer filter_values(const int32_t*, std::span<const KeyRange>);
template RowAnswer filter_values(const int64_t*, std::span<const KeyRange>);
template RowAnswer filter_values(const double*, std::span<const KeyRange>);
template RowAnswer filter_values(const uint8_t*, std::span<const KeyRange>);

bool in_ranges(std::span<const KeyRange> ranges, int64_t key) {
  const auto above =
      std::upper_bound(ranges.begin(), ranges.end(), key,
                       [](int64_t value, const KeyRange& range) { return value < range.first; });
  return above != ranges.begin() && key <= std::prev(above)->last;
}

std::optional<TextSet> as_points(std::span<const TextRange> ranges) {
  std::vector<std::string> texts;
  texts.reserve(ranges.size());
  for (const TextRange& range : ranges) {
    if (!range.is_point()) return std::nullopt;
    texts.push_back(range.first);
  }
  return TextSet(std::move(texts));
}

}  // namespace diptych::storage::encoding
