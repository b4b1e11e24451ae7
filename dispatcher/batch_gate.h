// BatchGate: how DDL, load, compare and save stop both sides between two batches.
//
// Each dispatcher passes the gate with every batch. Whoever must find both replicas at rest closes
// it: batches that run are let out, further ones wait, and the closer alone touches both sides.
//
//   OLTP dispatcher  --pass(kOltp)-->  [ batch ]  --~Passage-->
//   OLAP dispatcher  --pass(kOlap)-->  [ batch ]  --~Passage-->       Exclusive: neither inside
//
// Threads    pass: one thread a side. exclude: any number; they take turns, in any order, and go
//            before batches, so that a busy side cannot starve them.
// Cost       a batch pays two uncontended mutex operations.
//
// Invariants
//   G1  While an Exclusive lives, no Passage and no other Exclusive does.
//   G2  What was written inside a Passage or an Exclusive is visible to whoever is inside later.

#pragma once

#include <cstdint>
#include <mutex>

#include "base/parker.h"

namespace diptych::dispatcher {

enum class Side : uint8_t { kOltp, kOlap };

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
    ~Exclusive() { gate_->reopen(); }

   private:
    friend class BatchGate;
    explicit Exclusive(BatchGate* gate) : gate_(gate) {}
    BatchGate* gate_;
  };

  // Waits while the gate is closed; the side's batch runs while the Passage lives.
  [[nodiscard]] Passage pass(Side side);
  // Waits until both sides are between batches.
  [[nodiscard]] Exclusive exclude();

 private:
  void leave(Side side);
  void reopen();
  bool& inside(Side side) { return inside_[static_cast<size_t>(side)]; }

  std::mutex mutex_;
  bool inside_[2] = {};     // guarded by mutex_
  uint32_t excluders_ = 0;  // guarded by mutex_: waiting or inside
  bool excluded_ = false;   // guarded by mutex_: one of them is inside
  base::Parker changed_;
};

}  // namespace diptych::dispatcher
