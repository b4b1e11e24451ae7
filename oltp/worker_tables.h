// WorkerTables: what a worker has of each table, and which tables it has touched since the last
// boundary: a boundary looks at these, however many tables a database has.
//
// Threads    the worker's during a batch; the leader's at boundaries.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"
#include "oltp/row_table.h"
#include "oltp/table.h"
#include "propagation/export/update_set.h"

namespace diptych::oltp {

class WorkerTables {
 public:
  struct State {
    SlotAllocator slots;
    std::unique_ptr<propagation::UpdateSet> updates;
    int64_t row_count_change = 0;
    bool is_touched = false;
  };

  void resize(size_t tables) {
    states_.resize(tables);
    if (touched_.capacity() < tables) touched_.reserve(2 * tables);
  }
  void clear() {
    states_.clear();
    touched_.clear();
  }
  // At a boundary: the table is dropped.
  void forget(base::TableId id) {
    std::erase(touched_, id);
    states_[id.value] = State();
  }

  State& operator[](const Table& table) { return states_[table.schema->id.value]; }
  State& operator[](base::TableId id) { return states_[id.value]; }
  std::span<State> all() { return states_; }

  // Before the table's rows, or entries of its indexes, come, change or go. Allocates nothing.
  State& touch(const Table& table) {
    State& state = (*this)[table];
    if (!state.is_touched) [[unlikely]] {
      state.is_touched = true;
      touched_.push_back(table.schema->id);
    }
    return state;
  }
  std::span<const base::TableId> touched() const { return touched_; }
  // Ends a boundary. A table whose update set was not taken stays touched: the set will be filled.
  void forget_touched() {
    std::erase_if(touched_, [this](base::TableId id) {
      State& state = (*this)[id];
      state.is_touched = state.updates != nullptr;
      return !state.is_touched;
    });
  }

 private:
  std::vector<State> states_;           // [TableId]
  std::vector<base::TableId> touched_;  // in the order of their first touch
};

}  // namespace diptych::oltp
