// OpeningProcess: whose a database is. A child that is forked later has its memory, but none of its
// threads, and the parent's lock: whatever waits there would wait for ever.
//
// Threads    made by one; then any.
// Cost       a load. A child of vfork or clone alone is not told from its parent.

#pragma once

#include <cstdint>

#include <sys/types.h>

namespace diptych::dispatcher {

class OpeningProcess {
 public:
  OpeningProcess();  // the calling one

  pid_t id() const { return id_; }
  bool is_this_one() const;

 private:
  const pid_t id_;
  const uint32_t forks_;
};

}  // namespace diptych::dispatcher
