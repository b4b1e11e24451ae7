#include "olap/execution/pipeline.h"

#include <algorithm>

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

}  // namespace diptych::olap
