#include "oltp/hash_index.h"

#include "oltp/hash_index_body.h"

namespace diptych::oltp {

template class BasicHashIndex<std::atomic>;

std::unique_ptr<Index> make_hash_index(Concurrency concurrency, base::MemoryPlace place) {
  return std::make_unique<HashIndex>(concurrency, place);
}

}  // namespace diptych::oltp
