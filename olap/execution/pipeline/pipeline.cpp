#include "olap/execution/pipeline/pipeline.h"

#include <atomic>

#include "olap/execution/threads/workers.h"

namespace diptych::olap {

void run_pipeline(const RunContext& context, uint64_t morsels, uint32_t workers,
                  const SourceFactory& make_source) {
  std::atomic<uint64_t> next{0};       // writer: workers, who claim morsels
  std::atomic<bool> abandoned{false};  // writer: a worker that failed
  const auto work = [&](uint32_t worker) {
    std::unique_ptr<MorselSource> source;
    try {
      while (true) {
        context.stop->check();
        // relaxed: morsels are independent, and what they read was written before the run.
        const uint64_t morsel = next.fetch_add(1, std::memory_order_relaxed);
        // relaxed: only saves the others work.
        if (morsel >= morsels || abandoned.load(std::memory_order_relaxed)) return;
        if (source == nullptr) source = make_source(worker);
        if (!source->run(morsel)) return;
      }
    } catch (...) {
      // relaxed: see above.
      abandoned.store(true, std::memory_order_relaxed);
      throw;
    }
  };
  const uint64_t count = std::min<uint64_t>(workers, morsels);
  context.arena->run(static_cast<uint32_t>(count), work);
}

void run_in_order(const RunContext& context, uint64_t morsels, uint32_t workers,
                  const SourceFactory& make_source) {
  const auto count = static_cast<uint32_t>(std::min<uint64_t>(workers, morsels));
  const Workers shared(context.arena, *context.stop);
  shared.run(count, [&](uint32_t worker) {
    const RowRange share = range_of(morsels, worker, count);
    const std::unique_ptr<MorselSource> source = make_source(worker);
    for (uint64_t morsel = share.begin; morsel < share.end; ++morsel) {
      context.stop->check();
      if (!source->run(morsel)) return;
    }
  });
}

}  // namespace diptych::olap
