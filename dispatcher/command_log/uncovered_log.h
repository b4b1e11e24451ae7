// UncoveredLog: how much of the log no checkpoint has, and what follows from that.
//
//     1 x     since the last checkpoint began: the next one is wished for
//   1.5 x     outgrown: checkpoints are urgent
//     4 x     ahead: they are written as fast as the disk takes it
//     8 x     full: transactions wait for one, unless they fail
//
// x is `checkpoint_bytes`; from `ahead` on, where the log's files are larger than that, it is a
// file. 0: nothing follows, and the log has no bound.
//
// Threads    whoever holds the log's mutex.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace diptych::dispatcher {

class UncoveredLog {
 public:
  static constexpr uint64_t kAhead = 4;
  static constexpr uint64_t kFull = 8;

  UncoveredLog(uint64_t checkpoint_bytes, uint64_t file_bytes)
      : checkpoint_bytes_(checkpoint_bytes), unit_(std::max(checkpoint_bytes, file_bytes)) {}

  // An earlier process left so much.
  void set(uint64_t bytes) {
    bytes_ = bytes;
    since_ = bytes;
  }
  void add(uint64_t bytes) {
    bytes_ += bytes;
    since_ += bytes;
  }
  // True once for each `checkpoint_bytes`.
  bool take_wish() {
    if (checkpoint_bytes_ == 0 || since_ < checkpoint_bytes_) return false;
    since_ = 0;
    return true;
  }

  // What comes from here on it does not have.
  void checkpoint_begins() {
    since_ = 0;
    covering_ = bytes_;
  }
  void checkpoint_failed() { fails_ = true; }
  // It is durable, and has all there is, or what there was when it began.
  void cover_all() {
    bytes_ = 0;
    cover_begun();
  }
  void cover_begun() {
    bytes_ -= std::min(bytes_, std::exchange(covering_, 0));
    fails_ = false;
  }

  uint64_t bytes() const { return bytes_; }
  bool is_outgrown() const {
    return checkpoint_bytes_ != 0 && bytes_ >= checkpoint_bytes_ &&
           bytes_ - checkpoint_bytes_ >= checkpoint_bytes_ / 2;
  }
  bool is_ahead() const { return bytes_ > bound(kAhead); }
  bool is_full() const { return bytes_ > bytes_max() && !fails_; }
  uint64_t bytes_max() const { return bound(kFull); }

 private:
  uint64_t bound(uint64_t times) const {
    constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();
    return checkpoint_bytes_ == 0 || unit_ > kNone / times ? kNone : times * unit_;
  }

  const uint64_t checkpoint_bytes_;
  const uint64_t unit_;
  uint64_t bytes_ = 0;     // that no checkpoint has: about what a start would replay
  uint64_t since_ = 0;     // the last checkpoint began, or was wished for
  uint64_t covering_ = 0;  // of bytes_, what the one that began last covers
  bool fails_ = false;     // the last one has
};

}  // namespace diptych::dispatcher
