#include "olap/execution/star/star_values.h"

#include <algorithm>
#include <span>

namespace diptych::olap {

StarValues::StarValues(PhysicalType type, const QueryLimits& limits)
    : type_(type),
      packer_(std::span(&type_, 1), NullKeys::kEqual),
      table_(packer_, limits, "the values of a shared star pass"),
      packed_(size_t{kVectorRows} * packer_.words()),
      hashes_(kVectorRows),
      found_(kVectorRows),
      charge_(limits.memory, "the values of a shared star pass") {}

void StarValues::number(const Vector& values, const Selection& rows, uint32_t* numbers) {
  packer_.pack(std::span(&values, 1), rows, packed_.data(), hashes_.data());
  table_.find_or_insert(packed_.data(), hashes_.data(), rows.count, values.string_life,
                        found_.data());
  charge_.set(table_.memory_bytes());
  for_numbered(rows, [&](uint32_t k, uint32_t slot) { numbers[slot] = found_[k]; });
}

std::vector<uint32_t> StarValues::merge(const StarValues& other) {
  std::vector<uint32_t> numbers(other.size());
  if (other.size() == 0) return numbers;
  // Texts are copied: the other one may go first.
  table_.find_or_insert(other.table_.keys(), other.table_.hashes(), other.size(),
                        StringLife::kBatch, numbers.data());
  charge_.set(table_.memory_bytes());
  return numbers;
}

Vector StarValues::read(const uint32_t* numbers, uint32_t count, VectorBuffer* results) const {
  const size_t words = packer_.words();
  std::vector<uint64_t> keys(count * words);
  for (uint32_t i = 0; i < count; ++i) {
    std::copy_n(table_.keys() + numbers[i] * words, words, keys.data() + i * words);
  }
  return packer_.unpack(0, keys.data(), 0, count, results);
}

}  // namespace diptych::olap
