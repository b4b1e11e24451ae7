#include "storage/encoding/chunk_test.h"

#include <algorithm>
#include <utility>

namespace diptych::storage::encoding {

ChunkTest::ChunkTest(RowAnswer answer, const uint64_t* nulls, uint64_t flip)
    : passes_(answer.passes), nulls_(nulls), flip_(flip), test_(std::move(answer.test)) {
  if (passes_ == Passes::kNone) nulls_ = nullptr;
  if (passes_ == Passes::kAll && nulls_ != nullptr) passes_ = Passes::kSome;
}

ChunkTest ChunkTest::of_nulls(bool wants_null, const uint64_t* nulls, bool all_null) {
  if (all_null || nulls == nullptr) {
    return {RowAnswer::all_or_none(wants_null == all_null), nullptr};
  }
  return {RowAnswer::all_or_none(true), nulls, wants_null ? ~uint64_t{0} : 0};
}

std::optional<ChunkTest> ChunkTest::of_values(const ColumnRun& run, const Predicate& predicate) {
  using Question = Predicate::Question;
  const Question question = predicate.question();
  if (question == Question::kIsNull || question == Question::kIsNotNull) {
    return of_nulls(question == Question::kIsNull, run.nulls, false);
  }
  const auto text_of = [texts = run.as<base::StringRef>()](uint32_t row) {
    return texts[row].view();
  };
  const bool is_text = run.kind == ValueKind::kText;
  if (is_text && question == Question::kTexts) {
    return ChunkTest(test_texts(text_of, predicate.texts()), run.nulls);
  }
  if (is_text && question == Question::kSuffix) {
    return ChunkTest(test_texts(text_of, predicate.suffix()), run.nulls);
  }
  if (question != Question::kKeys) return std::nullopt;
  const auto& ranges = predicate.keys();
  switch (run.kind) {
    case ValueKind::kInt32: return ChunkTest(test_values(run.as<int32_t>(), ranges), run.nulls);
    case ValueKind::kInt64: return ChunkTest(test_values(run.as<int64_t>(), ranges), run.nulls);
    case ValueKind::kDouble: return ChunkTest(test_values(run.as<double>(), ranges), run.nulls);
    case ValueKind::kBoolean: return ChunkTest(test_values(run.as<uint8_t>(), ranges), run.nulls);
    case ValueKind::kText: break;
  }
  return std::nullopt;
}

void ChunkTest::narrow(uint32_t first, uint32_t count, uint64_t* words) const {
  if (passes_ == Passes::kNone)
    return static_cast<void>(std::fill_n(words, bitmap_words(count), 0));
  if (nulls_ != nullptr) {
    for (uint32_t w = 0; w < bitmap_words(count); ++w) {
      words[w] &= ~(nulls_[first / 64 + w] ^ flip_);
    }
  }
  if (test_ != nullptr) test_->narrow(first, count, words);
}

}  // namespace diptych::storage::encoding
