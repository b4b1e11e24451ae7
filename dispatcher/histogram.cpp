#include "dispatcher/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.h"

namespace diptych::dispatcher {
namespace {

constexpr unsigned kFractionBits = 5;  // 32 buckets a power of two
constexpr uint64_t kFractions = uint64_t{1} << kFractionBits;

}  // namespace

// Values below 32 have a bucket each. A larger one, 2^e <= value < 2^(e+1), goes by the five bits
// behind its leading one: bucket (e - 4) * 32 + those bits.
size_t Histogram::bucket_of(uint64_t value) {
  if (value < kFractions) return value;
  const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - 1 - kFractionBits;
  return (shift + 1) * kFractions + ((value >> shift) & (kFractions - 1));
}

uint64_t Histogram::middle_of(size_t bucket) {
  if (bucket < kFractions) return bucket;
  const size_t shift = bucket / kFractions - 1;
  const uint64_t least = (kFractions + bucket % kFractions) << shift;
  return least + ((uint64_t{1} << shift) >> 1);
}

void Histogram::record(uint64_t value) {
  const size_t bucket = bucket_of(value);
  DIPTYCH_DCHECK(bucket < kBuckets, "64 bits need (64 - 4) * 32 buckets");
  ++counts_[bucket];
  ++count_;
  sum_ += value;
  max_ = std::max(max_, value);
}

void Histogram::merge(const Histogram& other) {
  for (size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
}

double Histogram::mean() const {
  return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
}

uint64_t Histogram::quantile(double q) const {
  if (count_ == 0) return 0;
  const double wanted = std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count_));
  const uint64_t rank = std::clamp<uint64_t>(static_cast<uint64_t>(wanted), 1, count_);
  uint64_t passed = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    passed += counts_[i];
    if (passed >= rank) return std::min(middle_of(i), max_);
  }
  DIPTYCH_CHECK(false, "the buckets' counts sum up to count_");
}

uint64_t Histogram::count_below_power(unsigned exponent) const {
  DIPTYCH_CHECK(exponent < 64, "values have 64 bits");
  const size_t end = bucket_of(uint64_t{1} << exponent);  // a power of two begins a bucket
  uint64_t count = 0;
  for (size_t i = 0; i < end; ++i) count += counts_[i];
  return count;
}

Histogram Histogram::since(const Histogram& earlier) const {
  DIPTYCH_CHECK(count_ >= earlier.count_, "`earlier` is an older copy of this histogram");
  Histogram difference = *this;
  for (size_t i = 0; i < kBuckets; ++i) difference.counts_[i] -= earlier.counts_[i];
  difference.count_ -= earlier.count_;
  difference.sum_ -= earlier.sum_;
  return difference;
}

}  // namespace diptych::dispatcher
