// IndexBuild: fills an empty index with many entries at once, from several threads: for rows that
// are put back when a database is opened, and for an index that is made of a table's rows.
//
//   Index::begin_build ─► of a unique index, ask
//                      ─► [begin_run ─► add ... ─► end_run]* by each lane, side by side
//                      ─► make_steps(n) ─► step(i) for each, side by side ─► finish ─► in use
//
// A run is what one thread adds in one go. A hash index takes entries as they come, in groups whose
// misses overlap; an ordered one sorts each run, and the steps merge all runs into leaves, each
// step a stretch of the key space.
//
// Threads    a lane is one thread's at a time; everything else as drawn. Nobody else uses the
//            index until finish() has returned.
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
  // Two rows that have the same key, or, in a hash index, may have.
  using Suspects = std::pair<base::RowId, base::RowId>;
  using ShareKey = std::function<bool(base::RowId, base::RowId)>;

  virtual ~IndexBuild() = default;

  // `share_key`: whether the keys of two rows that were added are the same.
  void ask(ShareKey share_key) { share_key_ = std::move(share_key); }

  // At most `entries_max` follow in this run.
  virtual void begin_run(uint32_t lane, uint64_t entries_max) = 0;
  // The bytes of the row, where an index looks at them, are there.
  virtual void add(uint32_t lane, std::string_view key, base::RowId row_id) = 0;
  virtual void end_run(uint32_t lane) = 0;

  // How many steps there are: at most so many, where it pays.
  virtual uint32_t make_steps(uint32_t steps_max) = 0;
  virtual void step(uint32_t number) = 0;
  // The index is whole; or, of a unique one, it is not, since these two rows have the same key.
  virtual std::optional<Suspects> finish() = 0;

 protected:
  bool share_key(const Suspects& suspects) const {
    return share_key_ && share_key_(suspects.first, suspects.second);
  }

 private:
  ShareKey share_key_;
};

}  // namespace diptych::oltp
