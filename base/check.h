// Checks: how the code says what must hold, and stops when it does not.
//
// DIPTYCH_CHECK(condition, "why it must hold") is for our own bugs and stays in release builds.
// DIPTYCH_DCHECK is the same for row loops: only in builds without NDEBUG.
// Neither is for bad input, bad files or conflicts: those are Results (base/result.h).

#pragma once

namespace diptych::base {

// Prints the condition, the reason and the place to standard error, and aborts.
[[noreturn]] void check_failed(const char* condition, const char* reason, const char* file,
                               int line) noexcept;

}  // namespace diptych::base

#define DIPTYCH_CHECK(condition, reason) \
  (static_cast<bool>(condition)          \
       ? static_cast<void>(0)            \
       : ::diptych::base::check_failed(#condition, (reason), __FILE__, __LINE__))

#ifdef NDEBUG
#define DIPTYCH_DCHECK(condition, reason) static_cast<void>(0)
#else
#define DIPTYCH_DCHECK(condition, reason) DIPTYCH_CHECK(condition, reason)
#endif
