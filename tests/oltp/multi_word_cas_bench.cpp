// MultiWordCas, uncontended: swaps of one to four words, and a read.

#include <array>

#include <benchmark/benchmark.h>

#include "oltp/multi_word_cas.h"

namespace diptych::oltp {
namespace {

using Cas = MultiWordCas<>;

void multi_word_swap(benchmark::State& state) {
  const auto count = static_cast<size_t>(state.range(0));
  struct alignas(64) Line {
    Cas::Word word{0};
  };
  std::array<Line, Cas::kWordsMax> lines;
  Cas::DescriptorPool pool{base::NumaNode(0)};
  uint64_t value = 0;
  for (auto _ : state) {
    std::array<Cas::Change, Cas::kWordsMax> changes;
    for (size_t i = 0; i < count; ++i) changes[i] = {&lines[i].word, value, value + 2};
    benchmark::DoNotOptimize(Cas::swap(&pool, std::span(changes.data(), count)));
    value += 2;
    if (value % 1024 == 0) pool.reset();  // a batch boundary
  }
}

void multi_word_read(benchmark::State& state) {
  Cas::Word word{2};
  for (auto _ : state) benchmark::DoNotOptimize(Cas::read(word));
}

BENCHMARK(multi_word_swap)->DenseRange(1, 4);
BENCHMARK(multi_word_read);

}  // namespace
}  // namespace diptych::oltp
