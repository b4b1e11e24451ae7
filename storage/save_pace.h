// SavePace: how fast a save, or a copy, writes, and whether it goes on. Called with the bytes of
// what was written, it may sleep; its error ends the save, and is the save's. Empty: as fast as it
// goes. A save counts whole pages, as they go to the disk: a page for each small chunk.

#pragma once

#include <cstddef>
#include <functional>

#include "base/result.h"

namespace diptych::storage {

using SavePace = std::function<base::Result<void>(size_t bytes)>;

inline base::Result<void> keep_pace(const SavePace& pace, size_t bytes) {
  if (pace) return pace(bytes);
  return {};
}

}  // namespace diptych::storage
