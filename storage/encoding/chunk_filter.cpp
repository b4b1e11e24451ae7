#include "storage/encoding/chunk_filter.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace diptych::storage::encoding {
namespace {

// The first 4 bytes of a text as a number of the same order; zeros behind its end.
uint32_t head_of(const base::StringRef& text) {
  uint32_t head;
  std::memcpy(&head, text.first_bytes(), sizeof head);
  return __builtin_bswap32(head);
}
uint32_t head_of(std::string_view text) {
  return head_of(base::StringRef(text));
}

// One range of texts: a long one is gone to only if its first bytes are those of a bound.
class RangeOfRefs {
 public:
  explicit RangeOfRefs(const TextRange& range)
      : range_(range),
        first_(head_of(std::string_view(range.first))),
        end_(range.end ? uint64_t{head_of(std::string_view(*range.end))} : uint64_t{1} << 32) {}
  bool operator()(const base::StringRef& text) const {
    const uint32_t head = head_of(text);
    if (head == first_ || head == end_) return range_.holds(text.view());
    return head > first_ && head < end_;
  }

 private:
  TextRange range_;
  uint32_t first_;
  uint64_t end_;
};

}  // namespace

ChunkFilter::ChunkFilter(RowAnswer answer, const uint64_t* nulls, uint64_t flip)
    : passes_(answer.passes), nulls_(nulls), flip_(flip), filter_(std::move(answer.filter)) {
  if (passes_ == Passes::kNone) nulls_ = nullptr;
  if (passes_ == Passes::kAll && nulls_ != nullptr) passes_ = Passes::kSome;
}

ChunkFilter ChunkFilter::of_nulls(bool wants_null, const uint64_t* nulls, bool all_null) {
  if (all_null || nulls == nullptr) {
    return {RowAnswer::all_or_none(wants_null == all_null), nullptr};
  }
  return {RowAnswer::all_or_none(true), nulls, wants_null ? ~uint64_t{0} : 0};
}

std::optional<ChunkFilter> ChunkFilter::of_texts(const ColumnRun& run, const Predicate& predicate) {
  const auto* const texts = run.as<base::StringRef>();
  const auto text_of = [texts](uint32_t row) { return texts[row].view(); };
  if (predicate.question() == Predicate::Question::kSuffix) {
    return ChunkFilter(filter_texts(text_of, predicate.suffix()), run.nulls);
  }
  if (predicate.question() != Predicate::Question::kTexts) return std::nullopt;
  if (predicate.texts().size() != 1) {
    return ChunkFilter(filter_texts(text_of, predicate.texts()), run.nulls);
  }
  return ChunkFilter(
      filter_texts([texts](uint32_t row) -> const base::StringRef& { return texts[row]; },
                   RangeOfRefs(predicate.texts()[0])),
      run.nulls);
}

std::optional<ChunkFilter> ChunkFilter::of_values(const ColumnRun& run,
                                                  const Predicate& predicate) {
  using Question = Predicate::Question;
  const Question question = predicate.question();
  if (question == Question::kIsNull || question == Question::kIsNotNull) {
    return of_nulls(question == Question::kIsNull, run.nulls, false);
  }
  if (run.kind == ValueKind::kText) return of_texts(run, predicate);
  if (question != Question::kKeys) return std::nullopt;
  const auto& ranges = predicate.keys();
  switch (run.kind) {
    case ValueKind::kInt32: return ChunkFilter(filter_values(run.as<int32_t>(), ranges), run.nulls);
    case ValueKind::kInt64: return ChunkFilter(filter_values(run.as<int64_t>(), ranges), run.nulls);
    case ValueKind::kDouble: return ChunkFilter(filter_values(run.as<double>(), ranges), run.nulls);
    case ValueKind::kBoolean:
      return ChunkFilter(filter_values(run.as<uint8_t>(), ranges), run.nulls);
    case ValueKind::kText: break;
  }
  return std::nullopt;
}

void ChunkFilter::narrow(uint32_t first, uint32_t count, uint64_t* words) const {
  if (passes_ == Passes::kNone)
    return static_cast<void>(std::fill_n(words, bitmap_words(count), 0));
  if (nulls_ != nullptr) {
    for (uint32_t w = 0; w < bitmap_words(count); ++w) {
      words[w] &= ~(nulls_[first / 64 + w] ^ flip_);
    }
  }
  if (filter_ != nullptr) filter_->narrow(first, count, words);
}

}  // namespace diptych::storage::encoding
