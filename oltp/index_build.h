// IndexBuild: fills an empty index with many entries at once, from several threads: for rows that
// are put back when a database is opened, and for an index that is made of a table's rows.
//
//   Index::begin_build ─► [begin_run ─► add ... ─► end_run]* by each lane, side by side
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
#include <optional>
#include <string_view>
#include <utility>

#include "base/ids.h"

namespace diptych::oltp {

class IndexBuild {
 public:
  // Two rows that have the same key, or, in a hash index, may have.
  using Suspects = std::pair<base::RowId, base::RowId>;
  using Judge = bool (*)(const void* context, const Suspects& suspects);

  virtual ~IndexBuild() = default;

  // At most `entries_max` follow in this run.
  virtual void begin_run(uint32_t lane, uint64_t entries_max) = 0;
  // The bytes of the row, where an index looks at them, are there.
  virtual void add(uint32_t lane, std::string_view key, base::RowId row_id) = 0;
  virtual void end_run(uint32_t lane) = 0;

  // How many steps there are: at most so many, where it pays.
  virtual uint32_t make_steps(uint32_t steps_max) = 0;
  virtual void step(uint32_t number) = 0;
  // The index is whole. Of a unique one: calls share_key(RowId, RowId) for suspects until it says
  // that their keys are the same, and gives these two.
  template <class ShareKey>
  std::optional<Suspects> finish(const ShareKey& share_key) {
    return finish_with(&share_key, [](const void* context, const Suspects& suspects) {
      return (*static_cast<const ShareKey*>(context))(suspects.first, suspects.second);
    });
  }

 protected:
  virtual std::optional<Suspects> finish_with(const void* context, Judge judge) = 0;
};

}  // namespace diptych::oltp
