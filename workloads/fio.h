// fio_read: what the program fio reads of a file, as a yardstick from outside for reads of ours:
// in sequence, past the page cache, at a depth and in blocks as ours, into registered buffers in
// huge pages where there are some, as ours are.
//
// Errors     kNotFound: there is no fio on PATH. kIo: it failed, with what it said.
// Threads    any; the caller waits for a child.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace diptych::workloads {

// Bytes a second, of the whole file once.
base::Result<double> fio_read(const std::string& file, size_t block_bytes, uint32_t depth);

}  // namespace diptych::workloads
