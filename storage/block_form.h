// BlockForm: what full, quiet pages become. kPlain is there to be measured against.

#pragma once

#include <cstdint>

namespace diptych::storage {

enum class BlockForm : uint8_t { kCompressed, kPlain };

}  // namespace diptych::storage
