// StorageOptions: what holds for all tables of a replica, from its creation on.

#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/schema.h"

namespace diptych::storage {

// What full, quiet pages become. kPlain is there to be measured against.
enum class BlockForm : uint8_t { kCompressed, kPlain };

// A block's rows: a power of two in these bounds. More make longer scans of one chunk and longer
// pauses where one is thawed or frozen.
inline constexpr uint32_t kBlockRowsMin = 1U << 10;
inline constexpr uint32_t kBlockRowsMax = 1U << 18;
inline constexpr uint32_t kBlockRowsDefault = 1U << 16;

struct StorageOptions {
  uint32_t partitions = 1;  // of each table
  base::NumaNode node;
  BlockForm blocks = BlockForm::kCompressed;
  uint32_t block_rows = kBlockRowsDefault;
  base::Settled settled = base::Settled::kOff;  // kOn: of all tables, as if each said it
};

}  // namespace diptych::storage
