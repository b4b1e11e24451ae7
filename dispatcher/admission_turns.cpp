#include "dispatcher/admission_turns.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "dispatcher/query_job.h"
#include "oltp/request.h"

namespace diptych::dispatcher {
namespace {

constexpr std::array<size_t, kPriorities> kWeights = {16, 4, 1};
constexpr size_t kWeightsSum = 21;

}  // namespace

template <class Item>
AdmissionTurns<Item>::AdmissionTurns(const std::array<Queue*, kPriorities>& anonymous,
                                     size_t queues_max, size_t turn_max)
    : turn_max_(turn_max), arrivals_(queues_max) {
  DIPTYCH_CHECK(turn_max != 0, "a turn of nothing never ends");
  for (size_t i = 0; i < kPriorities; ++i) classes_[i].line.push_back(anonymous[i]);
}

template <class Item>
void AdmissionTurns<Item>::arrive(Queue* queue) {
  const bool pushed = arrivals_.try_push(queue);
  DIPTYCH_CHECK(pushed, "C2: a queue is listed once, and arrivals_ has a slot for each");
}

template <class Item>
void AdmissionTurns<Item>::take_arrivals() {
  Queue* queue = nullptr;
  while (arrivals_.try_pop(&queue)) {
    classes_[static_cast<size_t>(queue->priority())].line.push_back(queue);
  }
}

template <class Item>
size_t AdmissionTurns<Item>::waiting() {
  take_arrivals();
  size_t items = 0;
  for (const Class& each : classes_) {
    for (const Queue* const queue : each.line) items += queue->waiting();
  }
  return items;
}

template <class Item>
void AdmissionTurns<Item>::fill(size_t items_max, uint64_t now_ns, Items* batch, Items* expired) {
  take_arrivals();
  const Filling filling{now_ns, batch, expired};
  const size_t room = items_max - std::min(items_max, batch->size());
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
    take(&left, items_max - std::min(items_max, batch->size()), filling);
  }
}

template <class Item>
void AdmissionTurns<Item>::drop_expired(uint64_t now_ns, Items* expired) {
  take_arrivals();
  for (const Class& each : classes_) {
    for (Queue* const queue : each.line) queue->drop_expired(now_ns, expired);
  }
}

template <class Item>
size_t AdmissionTurns<Item>::take(Queue* queue, size_t items_max, const Filling& filling) {
  size_t taken = 0;
  typename Queue::Entry entry;
  while (taken < items_max && queue->pop(&entry)) {
    if (entry.deadline_ns != 0 && entry.deadline_ns <= filling.now_ns) {
      filling.expired->push_back(std::move(entry.item));
      continue;
    }
    filling.batch->push_back(std::move(entry.item));
    ++taken;
  }
  return taken;
}

template <class Item>
void AdmissionTurns<Item>::take(Class* from, size_t items_max, const Filling& filling) {
  const size_t end = filling.batch->size() + items_max;
  size_t without = 0;  // last ones of the line, which had nothing and stayed
  while (filling.batch->size() < end && without < from->line.size()) {
    Queue* const queue = from->line.front();
    const size_t room = end - filling.batch->size();
    const size_t turn = from->line.size() == 1 ? room : std::min(room, turn_max_ - from->taken);
    const size_t taken = take(queue, turn, filling);
    from->taken += taken;
    if (taken != 0) without = 0;
    const bool is_empty = queue->waiting() == 0;
    if (taken == turn && !is_empty && from->taken < turn_max_) break;  // there is no room left
    from->line.pop_front();
    from->taken = 0;
    if (is_empty && queue->is_clients() && queue->leave()) continue;
    from->line.push_back(queue);
    if (taken == 0) ++without;
  }
}

template class AdmissionTurns<oltp::Request*>;
template class AdmissionTurns<std::unique_ptr<QueryJob>>;

}  // namespace diptych::dispatcher
