// Rings of io_uring that do their operations by the calls which PowerCutDisk sees, in place of
// liburing's: the engine finds a system that has rings, or one that refuses them, as containers do.
//
//   submit: takes entries in their order, a linked one only behind one that did all it was to do
//      └──► done ──► told: some of them at each look, so that whoever waits may have to wait again
//
// Reads and writes are cut short as a system may, and a submission may be refused
// (Refusal::kRings): nothing of it is taken then.
//
// Threads    as liburing: one submits at a time, one looks at a time, both may do it together.

#pragma once

#include <cstdint>

namespace diptych::crash {

// For whoever makes a ring from now on; 0: it gets one.
void refuse_rings(int error_number);
uint64_t ring_operations();  // that were done, ever

}  // namespace diptych::crash
