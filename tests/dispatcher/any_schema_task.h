// ActorsTask: what a call wishes its actor to do; else the transaction's random numbers say it.
//
// A call's argument, and so bytes of the log.

#pragma once

#include <cstdint>

namespace diptych::dispatcher::any_schema {

struct ActorsTask {
  enum class Kind : uint32_t {
    kAnything,  // on all tables
    kOneTable,  // the same on one
    kChange,    // of each row of a range of numbers that is there
    kErase,     // likewise
  };
  Kind kind = Kind::kAnything;
  uint32_t table = 0;
  uint32_t first = 0;
  uint32_t end = 0;
};

}  // namespace diptych::dispatcher::any_schema
