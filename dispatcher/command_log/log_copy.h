// copy_log: what a log has after one VID and up to another, copied to another directory.
//
// Frames are checked and copied as they are, in files of the same numbers; the last one is cut
// within, where the VID is within it, and the copy's log ends there. So a copy is a log as a crash
// after that VID would have left it.
//
// Errors     kCorrupt: the log is damaged, or does not go on to that VID; kIo, kNoSpace. All name
//            the path. What there is of the copy is the caller's to remove.
// Threads    one. The files may be appended to meanwhile, behind the bytes that are given.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/ids.h"
#include "base/result.h"

namespace diptych::dispatcher {

// A file of the log.
struct LogExtent {
  uint64_t number = 0;
  base::Vid start;              // before its first
  uint64_t bytes = UINT64_MAX;  // that count; UINT64_MAX: all
};

// `files` in order; those that end before `after` are left out. Returns the bytes that were
// written; they are durable, but not the new files' names.
base::Result<uint64_t> copy_log(const std::string& from, std::span<const LogExtent> files,
                                base::Vid after, base::Vid last, const std::string& to);

}  // namespace diptych::dispatcher
