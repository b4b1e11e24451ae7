#include "storage/string_pages.h"

#include <algorithm>

#include "storage/string_heap.h"

namespace diptych::storage {

void StringPages::look() {
  std::erase_if(watched_, [](StringHeap* heap) { return !heap->trim_at_rest(); });
  if (has_surplus_) has_surplus_ = !pool_.release_unused();
}

bool StringPages::wants_look() const {
  return has_surplus_ || std::any_of(watched_.begin(), watched_.end(),
                                     [](const StringHeap* heap) { return heap->wants_trim(); });
}

}  // namespace diptych::storage
