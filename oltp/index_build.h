// IndexBuild: fills an empty index with many entries at once, from several threads. It serves the
// restore of rows when a database is opened, and new indexes on a table's existing rows.
//
//   Index::begin_build ─► of a unique index, ask
//                      ─► [begin_run ─► add ... ─► end_run]* by each lane, side by side
//                      ─► make_steps(n) ─► step(i) for each, side by side ─► finish ─► in use
//
// A run is a sequence of entries from one thread. A hash index inserts entries as they come, in
// groups whose misses overlap. An ordered index sorts each run, and the steps merge all runs into
// leaves, each step for a part of the key space.
//
// Threads    one thread uses a lane at a time; all else as drawn. Nobody else uses the index until
//            finish() has returned.
// Memory     an ordered index's runs take the size of its entries until finish().
// Benchmark  diptych bench recovery

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "base/ids.h"

namespace diptych::oltp {

class IndexBuild {
 public:
  // Two rows that have the same key or, in a hash index, may have the same key.
  using Suspects = std::pair<base::RowId, base::RowId>;
  using ShareKey = std::function<bool(base::RowId, base::RowId)>;

  virtual ~IndexBuild() = default;

  // `share_key` says whether two added rows have the same key.
  void ask(ShareKey share_key) { share_key_ = std::move(share_key); }

  // Begins a run of at most `entries_max` entries.
  virtual void begin_run(uint32_t lane, uint64_t entries_max) = 0;
  // Adds an entry. The row's bytes are complete, for indexes that read them.
  virtual void add(uint32_t lane, std::string_view key, base::RowId row_id) = 0;
  virtual void end_run(uint32_t lane) = 0;

  // Returns the number of steps, at most `steps_max`, as far as several pay.
  virtual uint32_t make_steps(uint32_t steps_max) = 0;
  virtual void step(uint32_t number) = 0;
  // Completes the index. For a unique index, returns two rows with the same key if there are any.
  virtual std::optional<Suspects> finish() = 0;

 protected:
  bool share_key(const Suspects& suspects) const {
    return share_key_ && share_key_(suspects.first, suspects.second);
  }

 private:
  ShareKey share_key_;
};

}  // namespace diptych::oltp
