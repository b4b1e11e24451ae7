#include "dispatcher/call_turns.h"

#include <algorithm>

#include "base/check.h"

namespace diptych::dispatcher {
namespace {

constexpr std::array<size_t, kPriorities> kWeights = {16, 4, 1};
constexpr size_t kWeightsSum = 21;

}  // namespace

CallTurns::CallTurns(const std::array<CallQueue*, kPriorities>& anonymous, size_t clients_max)
    : arrivals_(clients_max) {
  for (size_t i = 0; i < kPriorities; ++i) classes_[i].turns.push_back(anonymous[i]);
}

void CallTurns::arrive(CallQueue* queue) {
  const bool pushed = arrivals_.try_push(queue);
  DIPTYCH_CHECK(pushed, "C2: a queue is listed once, and arrivals_ has a slot for each");
}

void CallTurns::take_arrivals() {
  CallQueue* queue = nullptr;
  while (arrivals_.try_pop(&queue)) {
    classes_[static_cast<size_t>(queue->priority())].turns.push_back(queue);
  }
}

size_t CallTurns::waiting() {
  take_arrivals();
  size_t calls = 0;
  for (const Class& each : classes_) {
    for (const CallQueue* const queue : each.turns) calls += queue->waiting();
  }
  return calls;
}

void CallTurns::fill(size_t calls_max, uint64_t now_ns, std::vector<oltp::Request*>* batch,
                     std::vector<oltp::Request*>* expired) {
  take_arrivals();
  const Filling filling{now_ns, batch, expired};
  const size_t room = calls_max - std::min(calls_max, batch->size());
  if (room >= kPriorities) {
    const size_t low = std::max<size_t>(1, room * kWeights[2] / kWeightsSum);
    const size_t normal = std::max<size_t>(1, room * kWeights[1] / kWeightsSum);
    take(&classes_[0], room - normal - low, filling);
    take(&classes_[1], normal, filling);
    take(&classes_[2], low, filling);
  }
  // Too small to be shared out: the priorities go first in as many of such batches.
  if (room < kPriorities) {
    const size_t turn = small_batches_++ % kWeightsSum;
    const size_t i = turn < kWeights[0] ? 0 : turn < kWeights[0] + kWeights[1] ? 1 : 2;
    take(&classes_[i], room, filling);
  }
  for (Class& left : classes_) {
    take(&left, calls_max - std::min(calls_max, batch->size()), filling);
  }
}

size_t CallTurns::take(CallQueue* queue, size_t calls_max, const Filling& filling) {
  size_t taken = 0;
  QueuedCall call;
  while (taken < calls_max && queue->pop(&call)) {
    if (call.deadline_ns != 0 && call.deadline_ns <= filling.now_ns) {
      filling.expired->push_back(call.request);
      continue;
    }
    filling.batch->push_back(call.request);
    ++taken;
  }
  return taken;
}

bool CallTurns::leave(CallQueue* queue, const Filling& filling) {
  queue->unlist();
  if (take(queue, 1, filling) == 0) return true;
  return !queue->list_again();  // else whoever listed it has put it into arrivals_
}

void CallTurns::take(Class* from, size_t calls_max, const Filling& filling) {
  const size_t end = filling.batch->size() + calls_max;
  size_t without = 0;  // queues in a row that had no calls
  while (filling.batch->size() < end && without < from->turns.size()) {
    if (from->next >= from->turns.size()) from->next = 0;
    CallQueue* const queue = from->turns[from->next];
    const size_t room = end - filling.batch->size();
    const size_t turn = from->turns.size() == 1 ? room : std::min(room, kTurnCalls);
    const size_t taken = take(queue, turn, filling);
    without = taken == 0 ? without + 1 : 0;
    const bool is_empty = taken < turn;
    if (is_empty && queue->is_clients() && leave(queue, filling)) {
      // The last one takes its place, and its turn now.
      from->turns[from->next] = from->turns.back();
      from->turns.pop_back();
      without = 0;
    } else {
      ++from->next;
    }
  }
}

}  // namespace diptych::dispatcher
