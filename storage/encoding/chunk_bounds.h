// bounds_problem: whether the bounds in a chunk's header can be those of its values (C3), as far as
// the header alone tells: they are the right way round, or those of no value; values of the type;
// and within the frame or equal to the one value of a constant. Dictionaries tell more (their
// problem()); of the other forms only the values themselves would.
//
// Queries skip chunks by these bounds without reading them, so a directory asks it of each header
// that it has, and Chunk::open again.
//
// Cost      a few comparisons.

#pragma once

#include "storage/encoding/chunk_header.h"

namespace diptych::storage::encoding {

// What is wrong; nullptr: nothing. Sizes and offsets of the header need not be right.
const char* bounds_problem(const ChunkHeader& chunk);

}  // namespace diptych::storage::encoding
