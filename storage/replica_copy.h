// copy_replica: the block file of a saved replica, copied to another directory: what a manifest
// names, each chunk at the place that it has, verified by its checksum on the way.
//
// The manifest is not copied: who has made the rest writes it last, so that a copy that was
// interrupted is none. What the manifest does not name stays a hole.
//
// The source may be written meanwhile, by whoever holds its durable state (BlockFile::hold).
//
// Errors     kCorrupt, kIo, kNoSpace; each names the path. What there is of the copy is the
//            caller's to remove.
// Threads    one.

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/result.h"
#include "base/schema.h"
#include "storage/manifest.h"
#include "storage/save_pace.h"

namespace diptych::storage {

// Whether space that the manifest does not name is given to the copy at once: a database wants it
// before it begins to write, a backup does not.
enum class CopySpace : uint8_t { kHoles, kAllocated };

// Returns the bytes of the chunks; all is durable, but not the new file's name. `progress` gets the
// part that is done, 0 to 1; its error ends the copy, as the pace's does.
base::Result<uint64_t> copy_replica(const std::string& from, const Manifest& manifest,
                                    std::span<const base::TableSchema* const> schemas,
                                    const std::string& to, CopySpace space,
                                    const std::function<base::Result<void>(double)>& progress,
                                    const SavePace& pace);

}  // namespace diptych::storage
