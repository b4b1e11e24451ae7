#include "storage/settling.h"

#include <utility>

#include "storage/encoding/encode.h"

namespace diptych::storage {

std::optional<encoding::ChunkBytes> settled_form(const encoding::Chunk& chunk) {
  encoding::RunBuffer buffer;
  auto settled =
      encoding::encode(chunk.decode(0, chunk.rows(), &buffer), encoding::Choice::kSettled);
  if (!settled.ok()) return std::nullopt;
  const auto form = encoding::Chunk::trusted(*settled).encoding();
  if (form != encoding::Encoding::kZstd) return std::nullopt;
  return std::move(*settled);
}

}  // namespace diptych::storage
