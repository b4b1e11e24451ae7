// What the index benchmarks share: keys by number, random numbers that cost next to nothing, and
// filled indexes that several benchmarks read.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>

#include "base/split_mix.h"

namespace diptych::oltp {

// One-to-one, and without any pattern left. It is not 0 for numbers below 2^63.
inline uint64_t mix(uint64_t number) {
  return base::split_mix((number + 1) * base::kSplitMixStep);
}

// Numbers below a limit (at most 2^32), a few cycles each; a look-up takes a hundred or more.
class RandomNumbers {
 public:
  RandomNumbers(uint64_t seed, uint64_t limit) : at_(mix(seed)), limit_(limit) {}
  uint64_t next() { return (mix(at_++) >> 32) * limit_ >> 32; }

 private:
  uint64_t at_;
  uint64_t limit_;
};

// Sets of keys: key i of a set, in words whose order as integers is the keys'.
struct RandomKeys {
  static constexpr size_t kWords = 1;
  static std::array<uint64_t, kWords> at(uint64_t i) { return {mix(i)}; }
};
struct AscendingKeys {
  static constexpr size_t kWords = 1;
  static std::array<uint64_t, kWords> at(uint64_t i) { return {i}; }
};
// (CHAR(16), CHAR(16)): one of 65,536 customers' names, then the number of a document of his, in
// hexadecimal. The first 12 bytes are the same for all.
struct StringKeys {
  static constexpr size_t kWords = 4;
  static std::array<uint64_t, kWords> at(uint64_t i) {
    const uint64_t number = mix(i);
    constexpr uint64_t kCustomer = 0x437573746f6d6572;        // "Customer"
    constexpr uint64_t kZeroes = uint64_t{0x20303030} << 32;  // " 000", and room for four digits
    return {kCustomer, kZeroes | hex_of(number) >> 32, hex_of(mix(number) >> 32),
            hex_of(mix(number))};
  }

 private:
  // Eight hexadecimal digits, the first one in the highest byte.
  static uint64_t hex_of(uint64_t number) {
    uint64_t digits = number & 0xffffffff;
    digits = (digits | digits << 16) & 0x0000ffff0000ffff;
    digits = (digits | digits << 8) & 0x00ff00ff00ff00ff;
    digits = (digits | digits << 4) & 0x0f0f0f0f0f0f0f0f;
    const uint64_t letters = (digits + 0x0606060606060606) >> 4 & 0x0101010101010101;
    return digits + 0x3030303030303030 + letters * ('a' - '0' - 10);
  }
};

// The last index that was asked for, so that those who read the same one need not fill it again,
// and memory holds one at a time.
class KeptIndex {
 public:
  // `name`: of its contents; make() returns a unique_ptr. Threads of one benchmark may ask at once.
  template <class Make>
  static auto& get(const std::string& name, const Make& make) {
    using Structure = typename decltype(make())::element_type;
    static_assert(!std::is_const_v<Structure>);
    KeptIndex& kept = only();
    const std::lock_guard guard(kept.mutex_);
    if (kept.name_ != name) {
      kept.index_.reset();
      kept.index_ = std::shared_ptr<Structure>(make());
      kept.name_ = name;
    }
    return *static_cast<Structure*>(kept.index_.get());
  }

 private:
  static KeptIndex& only() {
    static KeptIndex kept;
    return kept;
  }

  std::mutex mutex_;
  std::shared_ptr<void> index_;  // guarded by mutex_, as is its name
  std::string name_;
};

}  // namespace diptych::oltp
