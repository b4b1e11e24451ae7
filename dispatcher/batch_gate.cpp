#include "dispatcher/batch_gate.h"

#include <utility>

#include "base/check.h"

namespace diptych::dispatcher {

BatchGate::Passage BatchGate::pass(Side side) {
  while (true) {
    const uint32_t ticket = changed_.ticket();
    {
      const std::lock_guard lock(mutex_);
      DIPTYCH_CHECK(!door(side).inside, "a side runs one batch at a time");
      if (door(side).excluders == 0) {
        door(side).inside = true;
        return {this, side};
      }
    }
    changed_.wait(ticket);
  }
}

void BatchGate::leave(Side side) {
  bool awaited = false;
  {
    const std::lock_guard lock(mutex_);
    DIPTYCH_CHECK(door(side).inside, "a batch leaves once");
    door(side).inside = false;
    awaited = door(side).excluders != 0;
  }
  if (awaited) changed_.wake_all();
}

void BatchGate::close(Side side) {
  const std::lock_guard lock(mutex_);
  ++door(side).excluders;
}

void BatchGate::await(Side side) {
  while (true) {
    const uint32_t ticket = changed_.ticket();
    {
      const std::lock_guard lock(mutex_);
      if (!door(side).inside) return;
    }
    changed_.wait(ticket);
  }
}

void BatchGate::take_turn() {
  while (true) {
    const uint32_t ticket = changed_.ticket();
    {
      const std::lock_guard lock(mutex_);
      if (!std::exchange(excluded_, true)) return;
    }
    changed_.wait(ticket);
  }
}

BatchGate::Exclusive BatchGate::exclude(Stops stops) {
  if (stops == Stops::kBoth) {
    close(Side::kOlap);
    await(Side::kOlap);
  }
  close(Side::kOltp);
  await(Side::kOltp);
  take_turn();
  return {this, stops};
}

BatchGate::Exclusive BatchGate::interrupt(const std::function<void()>& spoil) {
  take_turn();
  close(Side::kOlap);
  close(Side::kOltp);
  spoil();
  await(Side::kOlap);
  await(Side::kOltp);
  return {this, Stops::kBoth};
}

void BatchGate::reopen(Stops stops) {
  {
    const std::lock_guard lock(mutex_);
    DIPTYCH_CHECK(excluded_, "G1: the gate is opened by who closed it");
    excluded_ = false;
    for (Door& door : doors(stops)) {
      DIPTYCH_CHECK(!door.inside, "G1: a batch and an exclusive section never overlap");
      --door.excluders;
    }
  }
  changed_.wake_all();
}

}  // namespace diptych::dispatcher
