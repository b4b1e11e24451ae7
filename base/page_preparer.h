// PagePreparer: makes the pages of new memory before their user comes to them.
//
// The first touch of a page costs a fault and the clearing of the page: a tenth of a millisecond
// for a huge one, in the middle of a transaction, and a sixth of the time of an engine that
// inserts. So whoever maps memory that will be filled from its beginning hands it to this thread,
// which runs on the cores that it is given, asleep when there is nothing to do.
//
// Threads    prepare: any; it never waits. The memory may be used, and even unmapped, meanwhile.
// When full, or while there is a Pause, prepare does nothing: the pages are made at the first touch
//            then, as without it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/parker.h"
#include "base/thread.h"

namespace diptych::base {

class PagePreparer {
 public:
  static constexpr size_t kWaitingMax = 64;
  // Of memory that will be used next, so much has its pages made before its user gets there.
  static constexpr size_t kAheadBytes = size_t{4} << 20;

  // `cores`: where the thread runs; empty: anywhere.
  explicit PagePreparer(std::vector<uint32_t> cores);
  ~PagePreparer();  // does not wait for what was handed over and not yet begun

  void prepare(std::span<std::byte> memory);

  // Where all cores fill new memory side by side, one more thread that makes pages is in their way.
  class Pause {
   public:
    explicit Pause(PagePreparer* preparer);  // nullptr: of none
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    PagePreparer* preparer_;
  };

 private:
  void run();
  bool take(std::span<std::byte>* memory);

  std::vector<uint32_t> cores_;
  std::mutex mutex_;
  std::vector<std::span<std::byte>> waiting_;  // guarded by mutex_; oldest first
  uint32_t pauses_ = 0;                        // guarded by mutex_
  bool stopping_ = false;                      // guarded by mutex_
  Parker parker_;
  Thread thread_;
};

}  // namespace diptych::base
