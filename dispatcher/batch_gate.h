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
// Threads    pass: one thread a side. exclude: any number; they take turns, in any order, and go
//            before batches, so that a busy side cannot starve them.
// Cost       a batch pays two uncontended mutex operations.
//
// Invariants
//   G1  While an Exclusive lives, no other one does, and no Passage of a side that it stops.
//   G2  What was written inside a Passage or an Exclusive is visible to whoever is inside later.

#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <span>

#include "base/parker.h"

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
    Exclusive(const Exclusive&) = delete;
    Exclusive& operator=(const Exclusive&) = delete;
    ~Exclusive() { gate_->reopen(stops_); }

   private:
    friend class BatchGate;
    Exclusive(BatchGate* gate, Stops stops) : gate_(gate), stops_(stops) {}
    BatchGate* gate_;
    Stops stops_;
  };

  // Waits while the gate is closed; the side's batch runs while the Passage lives.
  [[nodiscard]] Passage pass(Side side);
  // Waits until the sides that it stops are between batches.
  [[nodiscard]] Exclusive exclude(Stops stops = Stops::kBoth);
  // For who spoils the batches that run: once no Exclusive lives, calls `spoil`, which has them end
  // soon, and waits for them. No other Exclusive lives, and no batch begins, until this one ends.
  [[nodiscard]] Exclusive interrupt(const std::function<void()>& spoil);

 private:
  struct Door {
    bool inside = false;     // a batch is
    uint32_t excluders = 0;  // who stop this side: waiting for it or inside
  };

  void leave(Side side);
  void close(Side side);  // no further batch passes until reopen()
  void await(Side side);  // until the batch that is inside has left
  void take_turn();       // waits until no other Exclusive lives
  void reopen(Stops stops);
  Door& door(Side side) { return doors_[static_cast<size_t>(side)]; }
  std::span<Door> doors(Stops stops) { return {doors_, stops == Stops::kBoth ? 2u : 1u}; }

  std::mutex mutex_;
  Door doors_[2];          // guarded by mutex_; by Side
  bool excluded_ = false;  // guarded by mutex_: an Exclusive lives, or an interrupt waits
  base::Parker changed_;
};

}  // namespace diptych::dispatcher
