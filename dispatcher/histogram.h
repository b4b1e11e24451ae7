// Histogram: how often values of which size were recorded: latencies, batch sizes.
//
// Threads    none of its own: whoever shares one guards it.
// Memory     16 KiB, fixed. A record touches one bucket.

#pragma once

#include <cstddef>
#include <cstdint>

namespace diptych::dispatcher {

// Counts in buckets of 1/32 of a power of two: values keep a relative error under 3.2 %.
class Histogram {
 public:
  void record(uint64_t value);
  void merge(const Histogram& other);
  uint64_t count() const { return count_; }
  uint64_t max() const { return max_; }
  uint64_t sum() const { return sum_; }
  double mean() const;
  uint64_t quantile(double q) const;  // q in [0, 1]; 0 when empty
  // Values recorded that are below 2^exponent; exact. exponent < 64.
  uint64_t count_below_power(unsigned exponent) const;
  // What was recorded since `earlier`, an older copy of this histogram (its max is this one's).
  Histogram since(const Histogram& earlier) const;

 private:
  static constexpr size_t kBuckets = 64 * 32;
  static size_t bucket_of(uint64_t value);
  static uint64_t middle_of(size_t bucket);

  uint64_t counts_[kBuckets] = {};
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t max_ = 0;
};

}  // namespace diptych::dispatcher
