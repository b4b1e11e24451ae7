#include "dispatcher/admission_queues.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "dispatcher/query_job.h"
#include "oltp/request.h"

namespace diptych::dispatcher {

template <class Item>
AdmissionQueues<Item>::AdmissionQueues(const AdmissionLimits& limits, base::SpinPolicy spin)
    : limits_(limits),
      spin_(spin),
      anonymous_([&] {
        std::array<Queue*, kPriorities> anonymous;
        for (size_t i = 0; i < kPriorities; ++i) {
          queues_.push_back(std::make_unique<Queue>(Queue::Of::kAnyone, static_cast<Priority>(i),
                                                    limits.anyone_max, spin));
          anonymous[i] = queues_.back().get();
        }
        return anonymous;
      }()),
      turns_(anonymous_, size_t{limits.clients_max} * kPriorities, limits.turn_max) {}

template <class Item>
base::Result<AdmissionQueue<Item>*> AdmissionQueues<Item>::connect(Priority priority) {
  const std::lock_guard lock(mutex_);
  if (closed_) return base::ErrorCode::kClosed;
  for (Queue*& free : disconnected_) {
    // Else its last items are not answered yet.
    if (free->priority() != priority || !free->tokens().reopen()) continue;
    Queue* const queue = std::exchange(free, disconnected_.back());
    disconnected_.pop_back();
    return queue;
  }
  uint32_t& made = made_[static_cast<size_t>(priority)];
  if (made == limits_.clients_max) {
    ++clients_refused_;
    return base::Error(base::ErrorCode::kOverloaded,
                       fmt::format("{} clients of this priority are connected, or have something "
                                   "that is not answered yet: clients_max allows no more",
                                   limits_.clients_max));
  }
  ++made;
  queues_.push_back(
      std::make_unique<Queue>(Queue::Of::kClient, priority, limits_.client_max, spin_));
  return queues_.back().get();
}

template <class Item>
void AdmissionQueues<Item>::disconnect(Queue* queue) {
  const std::lock_guard lock(mutex_);
  queue->tokens().close();
  disconnected_.push_back(queue);
}

template <class Item>
base::Result<void> AdmissionQueues<Item>::admit(Queue* queue, Admission admission,
                                                uint64_t deadline_ns) {
  AdmissionTokens& tokens = queue->tokens();
  return admission == Admission::kWait ? tokens.take_or_wait(deadline_ns) : tokens.take();
}

template <class Item>
void AdmissionQueues<Item>::note_refusal(base::ErrorCode why) {
  // relaxed: a figure to look at.
  refused_[static_cast<size_t>(why)].fetch_add(1, std::memory_order_relaxed);
}

template <class Item>
void AdmissionQueues<Item>::push(Queue* queue, Item item, uint64_t deadline_ns) {
  if (queue->push({std::move(item), deadline_ns})) turns_.arrive(queue);
}

template <class Item>
void AdmissionQueues<Item>::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (const auto& queue : queues_) queue->tokens().close();
  }
  // release: pairs with the acquire in drained; all tokens are closed.
  closing_.store(true, std::memory_order_release);
}

template <class Item>
bool AdmissionQueues<Item>::drained() const {
  // acquire: pairs with the release in close.
  if (!closing_.load(std::memory_order_acquire)) return false;
  const std::lock_guard lock(mutex_);
  return std::all_of(queues_.begin(), queues_.end(),
                     [](const auto& queue) { return queue->tokens().drained(); });
}

template <class Item>
AdmissionFigures AdmissionQueues<Item>::figures() const {
  AdmissionFigures figures;
  for (size_t i = 0; i < refused_.size(); ++i) {
    // relaxed: a figure to look at.
    figures.refused[i] = refused_[i].load(std::memory_order_relaxed);
  }
  const std::lock_guard lock(mutex_);
  figures.clients_refused = clients_refused_;
  figures.clients = queues_.size() - kPriorities - disconnected_.size();
  for (const auto& queue : queues_) {
    const auto priority = static_cast<size_t>(queue->priority());
    figures.in_flight[priority] += queue->tokens().in_use();
    figures.waiting[priority] += queue->waiting();
  }
  return figures;
}

template class AdmissionQueues<oltp::Request*>;
template class AdmissionQueues<std::unique_ptr<QueryJob>>;

}  // namespace diptych::dispatcher
