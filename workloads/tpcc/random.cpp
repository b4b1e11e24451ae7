#include "workloads/tpcc/random.h"

#include <cstring>

namespace diptych::workloads::tpcc {
namespace {

constexpr std::string_view kAlphanumerics =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
static_assert(kAlphanumerics.size() == 62);

// Four characters from each random number: 16 bits scaled to the alphabet.
void fill(Random* random, const char* alphabet, uint64_t letters, char* out, int32_t size) {
  for (int32_t i = 0; i < size;) {
    uint64_t bits = random->next();
    for (int32_t k = 0; k < 4 && i < size; ++k, ++i, bits >>= 16) {
      out[i] = alphabet[((bits & 0xffff) * letters) >> 16];
    }
  }
}

}  // namespace

void Random::alphanumeric(char* out, int32_t size) {
  fill(this, kAlphanumerics.data(), kAlphanumerics.size(), out, size);
}

void Random::numeric(char* out, int32_t size) {
  fill(this, kAlphanumerics.data(), 10, out, size);
}

std::string_view alphanumerics() {
  return kAlphanumerics;
}

base::Varchar<16> last_name(int32_t number) {
  static constexpr std::string_view kSyllables[] = {"BAR", "OUGHT", "ABLE",  "PRI",   "PRES",
                                                    "ESE", "ANTI",  "CALLY", "ATION", "EING"};
  DIPTYCH_CHECK(number >= 0 && number < kLastNames, "last names have three digits");
  base::Varchar<16> name{};
  for (const int32_t digit : {number / 100, number / 10 % 10, number % 10}) {
    const std::string_view syllable = kSyllables[digit];
    std::memcpy(name.bytes + name.size, syllable.data(), syllable.size());
    name.size = static_cast<uint8_t>(name.size + syllable.size());
  }
  return name;
}

}  // namespace diptych::workloads::tpcc
