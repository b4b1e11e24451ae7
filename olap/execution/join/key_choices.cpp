#include "olap/execution/join/key_choices.h"

#include <algorithm>
#include <utility>

#include "olap/execution/join/join_sides.h"
#include "olap/execution/limits/stop_signal.h"

namespace diptych::olap {

namespace {

// The equalities of a branch, as values of both sides.
struct KeySides {
  std::vector<const Expression*> probe;
  std::vector<const Expression*> build;
};

void add_equalities(const Operator& join, const Expression& condition, KeySides* key) {
  if (condition.kind == ExpressionKind::kAnd) {
    for (const ExpressionPtr& part : condition.children) add_equalities(join, *part, key);
    return;
  }
  if (condition.kind != ExpressionKind::kEqual) return;
  const Expression* probe = condition.children[0].get();
  const Expression* build = condition.children[1].get();
  if (!reads_build_side(join, *build)) std::swap(probe, build);
  if (!reads_build_side(join, *build) || !reads_probe_side(join, *probe)) return;
  if (physical_type(build->type) != physical_type(probe->type)) return;
  key->probe.push_back(probe);
  key->build.push_back(build);
}

// Returns false if a branch has no equality.
bool add_branches(const Operator& join, const Expression& condition, std::vector<KeySides>* keys) {
  if (condition.kind == ExpressionKind::kOr) {
    return std::all_of(
        condition.children.begin(), condition.children.end(),
        [&](const ExpressionPtr& branch) { return add_branches(join, *branch, keys); });
  }
  KeySides key;
  add_equalities(join, condition, &key);
  const bool has_key = !key.build.empty();
  keys->push_back(std::move(key));
  return has_key;
}

// Of the first OR that has a key in each branch.
std::vector<KeySides> keys_of(const Operator& join) {
  for (const ExpressionPtr& predicate : join.predicates) {
    if (predicate->kind != ExpressionKind::kOr) continue;
    std::vector<KeySides> keys;
    if (add_branches(join, *predicate, &keys)) return keys;
  }
  return {};
}

std::vector<PhysicalType> physical_types(const std::vector<const Expression*>& expressions) {
  std::vector<PhysicalType> types;
  for (const Expression* e : expressions) types.push_back(physical_type(e->type));
  return types;
}

std::vector<NodePtr> compile_all(const std::vector<const Expression*>& expressions,
                                 const QueryLimits& limits) {
  std::vector<NodePtr> nodes;
  for (const Expression* e : expressions) nodes.push_back(compile_expression(*e, limits));
  return nodes;
}

StringLife life_of(const std::vector<Vector>& keys) {
  const bool go = std::any_of(keys.begin(), keys.end(), [](const Vector& key) {
    return key.string_life == StringLife::kBatch;
  });
  return go ? StringLife::kBatch : StringLife::kQuery;
}

}  // namespace

size_t count_choices(const Operator& join) {
  return keys_of(join).size();
}

KeyChoices::Choice::Choice(const std::vector<const Expression*>& build, const QueryLimits& limits)
    : packer(physical_types(build), NullKeys::kNever),
      table(packer, limits, "the build side of a join") {}

std::optional<KeyChoices> KeyChoices::make(const Operator& join, const ColumnStore& rows,
                                           const QueryLimits& limits) {
  if (rows.row_count() < kRowsMin) return std::nullopt;
  const std::vector<KeySides> keys = keys_of(join);
  // Places are numbered through all choices.
  if (keys.empty() || rows.row_count() > UINT32_MAX / keys.size()) return std::nullopt;
  MemoryCharge charge(limits.memory, "the build side of a join");
  charge.set(rows.row_count() * keys.size() * 4 * sizeof(uint32_t));
  KeyChoices choices;
  const bool are_values = evaluates([&] {
    for (const KeySides& key : keys) {
      auto choice = std::make_unique<Choice>(key.build, limits);
      choice->probe = key.probe;
      choices.number_rows(join, key.build, rows, limits, choice.get());
      choices.place_rows(*limits.stop, choice.get());
      choices.choices_.push_back(std::move(choice));
    }
  });
  if (!are_values) return std::nullopt;
  return choices;
}

void KeyChoices::number_rows(const Operator& join, const std::vector<const Expression*>& build,
                             const ColumnStore& rows, const QueryLimits& limits, Choice* choice) {
  const std::vector<NodePtr> nodes = compile_all(build, limits);
  std::vector<Vector> vectors(nodes.size());
  Selection with_key;
  std::vector<uint64_t> packed(size_t{kVectorRows} * choice->packer.words());
  std::vector<uint64_t> hashes(kVectorRows);
  std::vector<uint32_t> numbers(kVectorRows);
  choice->numbers.resize(rows.row_count(), KeyTable::kNoKey);
  for_build_batches(join, rows, build, *limits.stop,
                    [&](const Batch& batch, const Selection& all, uint64_t first) {
                      for (size_t i = 0; i < nodes.size(); ++i) {
                        vectors[i] = nodes[i]->evaluate(batch, all);
                      }
                      select_without_nulls(vectors, all, &with_key);
                      choice->packer.pack(vectors, with_key, packed.data(), hashes.data());
                      choice->table.find_or_insert(packed.data(), hashes.data(), with_key.count,
                                                   life_of(vectors), numbers.data());
                      for_numbered(with_key, [&](uint32_t k, uint32_t slot) {
                        choice->numbers[first + slot] = numbers[k];
                      });
                    });
}

// A counting sort of the rows by key number, behind the places of the choices before.
void KeyChoices::place_rows(const StopSignal& stop, Choice* choice) {
  const auto row_count = static_cast<uint32_t>(choice->numbers.size());
  const auto first_place = static_cast<uint32_t>(rows_.size());
  GrowingArray<uint32_t>& starts = choice->starts;
  starts.resize(choice->table.size() + size_t{1}, 0);
  for (uint32_t row = 0; row < row_count; ++row) {
    stop.check_at(row);
    if (choice->numbers[row] != KeyTable::kNoKey) ++starts[choice->numbers[row]];
  }
  uint32_t end = first_place;
  for (size_t key = 0; key < starts.size(); ++key) {
    stop.check_at(key);
    end += starts[key];
    starts[key] = end;
  }
  rows_.resize(end);
  // Backwards, so that the rows of a key stay in their order, and starts[key] ends as the first.
  for (uint32_t row = row_count; row-- > 0;) {
    stop.check_at(row);
    if (choice->numbers[row] != KeyTable::kNoKey) rows_[--starts[choice->numbers[row]]] = row;
  }
}

size_t KeyChoices::memory_bytes() const {
  size_t bytes = rows_.bytes();
  for (const auto& choice : choices_) {
    bytes += choice->table.memory_bytes() + choice->numbers.bytes() + choice->starts.bytes();
  }
  return bytes;
}

ChoiceFinder::ChoiceFinder(const KeyChoices& choices, const QueryLimits& limits)
    : choices_(choices), hashes_(kVectorRows), found_(kVectorRows) {
  uint32_t words = 1;
  for (const auto& choice : choices.choices_) {
    keys_.push_back(compile_all(choice->probe, limits));
    words = std::max(words, choice->packer.words());
  }
  packed_.resize(size_t{kVectorRows} * words);
  numbers_.resize(choices.count() * kVectorRows);
}

bool ChoiceFinder::find(const Batch& batch, const Selection& rows) {
  std::fill(numbers_.begin(), numbers_.end(), KeyTable::kNoKey);
  return evaluates([&] {
    for (size_t c = 0; c < keys_.size(); ++c) {
      const KeyChoices::Choice& choice = *choices_.choices_[c];
      vectors_.clear();
      for (const NodePtr& key : keys_[c]) vectors_.push_back(key->evaluate(batch, rows));
      select_without_nulls(vectors_, rows, &with_key_);
      choice.packer.pack(vectors_, with_key_, packed_.data(), hashes_.data());
      choice.table.find(packed_.data(), hashes_.data(), with_key_.count, found_.data());
      for_numbered(with_key_, [&](uint32_t k, uint32_t slot) {
        numbers_[c * kVectorRows + slot] = found_[k];
      });
    }
  });
}

bool ChoiceFinder::was_given(uint32_t slot, size_t choice, uint32_t row) const {
  for (size_t c = 0; c < choice; ++c) {
    const uint32_t key = number(c, slot);
    if (key != KeyTable::kNoKey && choices_.choices_[c]->numbers[row] == key) return true;
  }
  return false;
}

// `choice` is the one after that of `next`.
void ChoiceFinder::advance(uint32_t slot, Candidates* candidates) const {
  while (true) {
    for (; candidates->next != candidates->end; ++candidates->next) {
      const uint32_t row = choices_.row(candidates->next);
      if (!was_given(slot, candidates->choice - size_t{1}, row)) return;
    }
    if (candidates->choice == choices_.count()) return;
    const KeyChoices::Choice& choice = *choices_.choices_[candidates->choice];
    const uint32_t key = number(candidates->choice, slot);
    ++candidates->choice;
    if (key == KeyTable::kNoKey) continue;
    candidates->next = choice.starts[key];
    candidates->end = choice.starts[key + size_t{1}];
  }
}

}  // namespace diptych::olap
