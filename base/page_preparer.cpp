#include "base/page_preparer.h"

#include <algorithm>
#include <utility>

#include "base/arena.h"
#include "base/thread.h"

namespace diptych::base {

PagePreparer::PagePreparer(std::vector<uint32_t> cores)
    : cores_(std::move(cores)), thread_([this] { run(); }) {}

PagePreparer::~PagePreparer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  parker_.wake_all();
  thread_.join();
}

void PagePreparer::prepare(std::span<std::byte> memory) {
  {
    const std::lock_guard lock(mutex_);
    if (memory.empty() || pauses_ != 0 || waiting_.size() >= kWaitingMax) return;
    waiting_.push_back(memory);
  }
  parker_.wake_all();
}

PagePreparer::Pause::Pause(PagePreparer* preparer) : preparer_(preparer) {
  if (preparer_ == nullptr) return;
  const std::lock_guard lock(preparer_->mutex_);
  ++preparer_->pauses_;
}

PagePreparer::Pause::~Pause() {
  if (preparer_ == nullptr) return;
  const std::lock_guard lock(preparer_->mutex_);
  --preparer_->pauses_;
}

// A piece at a time, so that neither stopping nor memory that is wanted sooner waits for long.
bool PagePreparer::take(std::span<std::byte>* memory) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || waiting_.empty()) return false;
  std::span<std::byte>& oldest = waiting_.front();
  *memory = oldest.first(std::min(oldest.size(), kHugePageBytes));
  oldest = oldest.subspan(memory->size());
  if (oldest.empty()) waiting_.erase(waiting_.begin());
  return true;
}

void PagePreparer::run() {
  // Its time is the OLTP side's, on whichever cores it runs (base/thread.h sums by name).
  name_this_thread("oltp-pages");
  if (!cores_.empty()) pin_this_thread(cores_);
  while (true) {
    const uint32_t ticket = parker_.ticket();
    std::span<std::byte> memory;
    if (take(&memory)) {
      populate_memory(memory.data(), memory.size());
      continue;
    }
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    parker_.wait(ticket);
  }
}

}  // namespace diptych::base
