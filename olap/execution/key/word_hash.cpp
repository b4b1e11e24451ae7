#include "olap/execution/key/word_hash.h"

#include <bit>
#include <exception>
#include <random>

#include "base/clock.h"

namespace diptych::olap {

namespace {

HashSeed make_seed() {
  // Where the system has no random numbers, the time is one that hardly anybody knows.
  std::mt19937_64 words(base::steady_ns());
  try {
    std::random_device random;
    std::seed_seq seed{random(), random(), random(), random()};
    words.seed(seed);
  } catch (const std::exception&) {
  }
  HashSeed seed{words(), words() | 1};
  while (std::popcount(seed.step) < 24 || std::popcount(seed.step) > 40) seed.step = words() | 1;
  return seed;
}

}  // namespace

const HashSeed kHashSeed = make_seed();

}  // namespace diptych::olap
