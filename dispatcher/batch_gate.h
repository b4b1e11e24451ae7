// BatchGate: how DDL, load, compare and save stop both sides between two batches.
//
// Each dispatcher passes the gate with every batch. Whoever must find both replicas at rest closes
// it: batches that run are let out, further ones wait, and the closer alone touches both sides. Who
// changes nothing that the OLAP side looks at stops the OLTP side alone. The OLAP side is stopped
// first: while a batch of long queries is awaited, transactions go on.
//
//   OLTP dispatcher  --pass(kOltp)-->  [ batch ]  --~Passage-->
//   OLAP dispatcher  --pass(kOlap)-->  [ batch ]  --~Passage-->       Exclusive: neither inside
//
// Threads    pass: one thread a side. exclude, interrupt: any number.
// Turns      Exclusive sections go in the order in which they were asked for, but one whose sides
//            are between batches does not wait behind one that awaits a batch. They go before
//            batches, so that a busy side cannot starve them; but a batch that waits when a section
//            ends goes before the next one, so that they cannot starve the side by overlapping.
// Cost       a batch pays two uncontended mutex operations.
//
// Invariants
//   G1  While an Exclusive lives, no other one does, and no Passage of a side that it stops.
//   G2  What was written inside a Passage or an Exclusive is visible to whoever is inside later.
//   G3  A batch that waits for a section that stops its side to end goes before the next one.

#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "base/parker.h"
#include "base/result.h"
#include "dispatcher/late_answers.h"

namespace diptych::dispatcher {

enum class Side : uint8_t { kOltp, kOlap };
enum class Stops : uint8_t { kOltp, kBoth };

class BatchGate {
 public:
  class Passage {
   public:
    Passage(const Passage&) = delete;
    Passage& operator=(const Passage&) = delete;
    ~Passage() { gate_->leave(side_); }

   private:
    friend class BatchGate;
    Passage(BatchGate* gate, Side side) : gate_(gate), side_(side) {}
    BatchGate* gate_;
    Side side_;
  };

  class Exclusive {
   public:
    Exclusive(Exclusive&& other) noexcept
        : gate_(std::exchange(other.gate_, nullptr)), stops_(other.stops_) {}
    Exclusive(const Exclusive&) = delete;
    Exclusive& operator=(const Exclusive&) = delete;
    ~Exclusive() {
      if (gate_ != nullptr) gate_->reopen(stops_);
    }

   private:
    friend class BatchGate;
    Exclusive(BatchGate* gate, Stops stops) : gate_(gate), stops_(stops) {}
    BatchGate* gate_;
    Stops stops_;
  };

  // Waits while the gate is closed, and calls `meanwhile` every kLateAnswerNs; the side's batch
  // runs while the Passage lives.
  [[nodiscard]] Passage pass(
      Side side, const std::function<void()>& meanwhile = [] {});
  // Waits for its turn, and until the sides that it stops are between batches.
  [[nodiscard]] Exclusive exclude(Stops stops = Stops::kBoth);
  // Of both sides, likewise, until a moment (base::steady_ns). kDeadlineExceeded: it was not there
  // by then, and keeps nobody waiting any more.
  [[nodiscard]] base::Result<Exclusive> exclude_until(uint64_t deadline_ns);
  // For who spoils the batches that run: once no Exclusive lives, calls `spoil`, which has them end
  // soon, and waits for them. No other Exclusive lives, and no batch begins, until this one ends.
  [[nodiscard]] Exclusive interrupt(const std::function<void()>& spoil);

 private:
  struct Door {
    bool inside = false;   // a batch is
    bool waiting = false;  // one waits in pass()
    bool owed = false;     // that one goes before the next section
  };
  enum class Section : uint8_t { kOltp, kBoth, kInterrupt };
  struct Waiter {
    Section section;
    Waiter* next = nullptr;
  };

  void leave(Side side);
  // False: it did not come before the moment.
  bool take_turn(Section section, std::optional<uint64_t> deadline_ns = std::nullopt);
  void give_turn_up(const Waiter* waiter);
  void reopen(Stops stops);

  // The caller of these holds mutex_.
  bool may_pass(Side side) const;
  bool is_kept_out_by(const Waiter& waiter, Side side) const;
  bool may_begin(Section section) const;
  bool is_next(const Waiter& waiter) const;
  void line_up(Waiter* waiter);
  void leave_line(const Waiter* waiter);
  bool rests(Side side) const { return !door(side).inside && !door(side).owed; }
  Door& door(Side side) { return doors_[static_cast<size_t>(side)]; }
  const Door& door(Side side) const { return doors_[static_cast<size_t>(side)]; }

  std::mutex mutex_;
  // All guarded by mutex_.
  Door doors_[2];              // by Side
  Waiter* line_ = nullptr;     // who wait to begin a section, the first one first
  std::optional<Stops> held_;  // an Exclusive lives, or an interrupt waits
  base::Parker changed_;
};

}  // namespace diptych::dispatcher
