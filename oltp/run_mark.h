// RunMark: which procedure a worker runs and since when, for whoever watches from another thread.
// Its body, or the access or partition function of one of its calls.
//
// One word, so that the two always belong together: the time in units of 2^16 ns (65 us), the
// procedure's id in the low 16 bits. 0: none.
//
// Threads    begin and end: the worker's. read: any. Wait-free; a store a call of these.

#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/alignment.h"
#include "base/ids.h"

namespace diptych::oltp {

struct RunningProcedure {
  base::ProcedureId procedure;
  uint64_t since_ns = 0;  // steady clock, at most 65 us too early
};

class alignas(base::kLineBytes) RunMark {
 public:
  static constexpr uint32_t kProceduresMax = 1U << 16;

  void begin(base::ProcedureId procedure, uint64_t now_ns) {
    // relaxed: nothing is published with it.
    word_.store((now_ns & ~uint64_t{kProceduresMax - 1}) | procedure.value,
                std::memory_order_relaxed);
  }
  void end() {
    // relaxed: as above.
    word_.store(0, std::memory_order_relaxed);
  }
  std::optional<RunningProcedure> read() const {
    // relaxed: a look, which the next one corrects.
    const uint64_t word = word_.load(std::memory_order_relaxed);
    if (word == 0) return std::nullopt;
    const auto procedure = static_cast<uint32_t>(word & (kProceduresMax - 1));
    return RunningProcedure{base::ProcedureId(procedure), word & ~uint64_t{kProceduresMax - 1}};
  }

 private:
  std::atomic<uint64_t> word_{0};  // writer: the worker
};

}  // namespace diptych::oltp
