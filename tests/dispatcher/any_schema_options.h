// Random DatabaseOptions for any_schema_history.h, and what a history has met of what they lead to.
//
// Choices are drawn as from a pack of cards: within as many openings as it has, each has come.
//
// Threads  one.

#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "dispatcher/database.h"
#include "tests/dispatcher/any_schema.h"

namespace diptych::dispatcher::any_schema {

template <class Value>
class Pack {
 public:
  Pack(std::initializer_list<Value> cards) : cards_(cards) {}

  Value draw(const Below& below) {
    if (left_ == 0) left_ = cards_.size();
    std::swap(cards_[below(left_)], cards_[left_ - 1]);
    return cards_[--left_];
  }

 private:
  std::vector<Value> cards_;
  size_t left_ = 0;  // at the front
};

struct Traits {
  bool in_memory = false;
  bool crowded = false;  // more rows and calls, longer transactions
  bool wide = false;     // hundreds of columns, longer strings
  bool large = false;    // tables of several blocks, of which whole ranges are changed and erased
};

class RandomOptions {
 public:
  // Of a database at `path`, or of one in memory.
  RandomOptions(const Traits& traits, std::string path, const Below& below);

  DatabaseOptions at_first() const;  // of what a database keeps
  DatabaseOptions draw();
  uint32_t partitions() const { return partitions_; }

 private:
  const Traits traits_;
  const std::string path_;
  const Below& below_;
  const uint32_t partitions_;  // a database keeps their number
  Pack<LogMode> logs_{LogMode::kCommand, LogMode::kPhysical, LogMode::kNone};
  // Of the columns of blocks: all that there is, nothing that is not in use, a part.
  Pack<size_t> memories_{0, 1, 32 << 10};
  Pack<base::Settled> settled_{base::Settled::kOn, base::Settled::kOff, base::Settled::kOn};
  Pack<size_t> checkpoint_bytes_{size_t{1} << 30, 4 << 10, 32 << 10};
};

// All that databases have done; of what a test is to have met, each is asked for by name.
struct Met {
  uint64_t blocks_made = 0;
  uint64_t blocks_melted = 0;
  uint64_t blocks_rewritten = 0;
  uint64_t columns_thawed = 0;
  uint64_t columns_frozen = 0;
  uint64_t columns_settled = 0;
  uint64_t chunks_evicted = 0;
  uint64_t chunks_read = 0;
  uint64_t chunks_written = 0;          // since they had changed and had to go
  uint64_t background_checkpoints = 0;  // that nobody asked for
  uint64_t partitions_with_blocks = 0;  // databases of several partitions that had blocks
  uint64_t blocks_replayed_to = 0;      // replays of a log onto blocks
  uint64_t commits_lost = 0;            // that were not logged
  uint64_t ddl_lost = 0;                // tables and indexes, likewise

  void add(const Met& other);
  // Of one life of a database; `asked`: checkpoints that somebody asked for.
  void add(const Metrics& life, uint32_t partitions, uint64_t asked);
  // Names of what has not been met.
  std::vector<std::string> missing() const;
};

}  // namespace diptych::dispatcher::any_schema
