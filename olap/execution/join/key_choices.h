// KeyChoices: the build rows by the keys of an OR of equalities, so that a join on it does not
// compare every pair of rows. ChoiceFinder finds the candidates for the rows of a batch.
//
//   on p.k = b.first or p.k = b.second and p.day = b.day     two choices: the build rows by
//                                                            (first), and by (second, day)
//
// Each branch of the OR has at least one equality of a value of the probe side and one of the build
// side; all of its equalities are the key of that choice. The candidates of a probe row are the
// build rows with its key in the first choice, then those in the second, and so on. A build row
// that an earlier choice has given is passed over: the probe row has the build row's key there too.
//
// Superset   candidates may not match, because a branch may ask for more than its equalities. The
//            join tests its predicates on every pair. A row with a NULL in a key has none there.
//
// Threads    KeyChoices is immutable once made. A ChoiceFinder belongs to one worker.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "olap/execution/expression/expression.h"
#include "olap/execution/key/key_packer.h"
#include "olap/execution/key/key_table.h"
#include "olap/execution/limits/growing_array.h"
#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/vector/column_store.h"
#include "olap/execution/vector/vector.h"
#include "olap/plan.h"

namespace diptych::olap {

// How many keys the OR among the join's predicates gives; 0: no predicate is such an OR.
size_t count_choices(const Operator& join);

class KeyChoices {
 public:
  // Comparing every pair with fewer build rows is as fast.
  static constexpr uint32_t kRowsMin = 64;

  // nullopt: no predicate of the join is such an OR, there are fewer than kRowsMin rows, or a key
  // of a row cannot be computed.
  static std::optional<KeyChoices> make(const Operator& join, const ColumnStore& rows,
                                        const QueryLimits& limits);

  size_t count() const { return choices_.size(); }
  // Places are those of all choices; a row has one in each choice whose key it has.
  uint32_t row(uint32_t place) const { return rows_[place]; }
  size_t memory_bytes() const;

 private:
  friend class ChoiceFinder;

  struct Choice {
    Choice(const std::vector<const Expression*>& build, const QueryLimits& limits);

    KeyPacker packer;
    KeyTable table;
    std::vector<const Expression*> probe;  // the probe side of the equalities
    GrowingArray<uint32_t> numbers;        // by build row: its key's number, or KeyTable::kNoKey
    GrowingArray<uint32_t> starts;         // by key number, and the end: the first place
  };

  KeyChoices() = default;
  void number_rows(const Operator& join, const std::vector<const Expression*>& build,
                   const ColumnStore& rows, const QueryLimits& limits, Choice* choice);
  void place_rows(const StopSignal& stop, Choice* choice);

  std::vector<std::unique_ptr<Choice>> choices_;  // which their tables refer to
  GrowingArray<uint32_t> rows_;                   // by place
};

class ChoiceFinder {
 public:
  // What is left of a probe row's candidates: the places [next, end), and those of the choices from
  // `choice` on. Nothing if next == end. Begins as {}, before advance().
  struct Candidates {
    uint32_t next = 0;
    uint32_t end = 0;
    uint32_t choice = 0;
  };

  // `choices` outlives it.
  ChoiceFinder(const KeyChoices& choices, const QueryLimits& limits);

  // Looks up the keys of the selected rows. Returns false if a key cannot be computed: every build
  // row is a candidate.
  bool find(const Batch& batch, const Selection& rows);
  // Moves on to the next candidate of the row in this slot, from `next` on.
  void advance(uint32_t slot, Candidates* candidates) const;

 private:
  // The key's number, or KeyTable::kNoKey.
  uint32_t number(size_t choice, uint32_t slot) const {
    return numbers_[choice * kVectorRows + slot];
  }
  bool was_given(uint32_t slot, size_t choice, uint32_t row) const;

  const KeyChoices& choices_;
  std::vector<std::vector<NodePtr>> keys_;  // by choice
  std::vector<Vector> vectors_;
  Selection with_key_;
  std::vector<uint64_t> packed_;
  std::vector<uint64_t> hashes_;
  std::vector<uint32_t> found_;
  std::vector<uint32_t> numbers_;  // by choice and slot
};

}  // namespace diptych::olap
