// FileStep: the system calls that change the disk, each announced before it is made.
//
// What a BeforeFileStep refuses is not done, and its error is the call's: so a test can stop a save
// at every step, as a full or failing disk or a kill would. An empty one costs a test for null.

#pragma once

#include <cstdint>
#include <functional>

#include "base/result.h"

namespace diptych::storage {

enum class FileStep : uint8_t {
  kGrow,           // create a file, or add space to it
  kWrite,          // write bytes into a file
  kSync,           // make a file's bytes durable
  kSyncDirectory,  // make names durable
  kRename,         // put a file in another's place
  kTruncate,       // give a file's end back
  kRemove,         // unlink a file
};

// May be called by several threads at once, under locks of the file: it calls nothing of the file.
using BeforeFileStep = std::function<base::Result<void>(FileStep)>;

inline base::Result<void> announce(const BeforeFileStep& before_step, FileStep step) {
  if (before_step) return before_step(step);
  return {};
}

}  // namespace diptych::storage
