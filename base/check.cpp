#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace diptych::base {

void check_failed(const char* condition, const char* reason, const char* file, int line) noexcept {
  std::fprintf(stderr, "diptych: check failed: %s (%s) at %s:%d\n", condition, reason, file, line);
  std::abort();
}

}  // namespace diptych::base
