// Memory that the machine has free, made ready to be measured with.
//
// The host of a virtual machine takes back what the machine has free within seconds, and gives it
// again at a tenth of memory's speed and less. A program that takes new memory then measures the
// host. Touched shortly before, the memory is there.

#pragma once

#include <cstdint>

namespace diptych::workloads {

// Takes so much of what is free, half of it at most, writes to each page, and gives it back. Any
// thread; milliseconds for 100 MB where the machine has the memory already.
void touch_free_memory(uint64_t bytes);

}  // namespace diptych::workloads
