// Under a sanitizer loops are several times as slow, so that tests run fewer seeds and wait longer.
// DIPTYCH_TSAN is defined where mutants must be found by ThreadSanitizer.

#pragma once

#include "base/sanitizers.h"

namespace diptych::test {

using base::kSanitized;

}  // namespace diptych::test
