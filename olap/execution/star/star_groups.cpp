#include "olap/execution/star/star_groups.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace diptych::olap {

namespace {

// With so many queries of a word, turning whole squares of bits is cheaper than query by query.
constexpr size_t kTransposeMin = 6;
constexpr const char* kStarGroupsAre = "the groups of a shared star pass";  // for messages

// Bit j of rows[i] for bit i of rows[j] (Warren, Hacker's Delight, 7-3).
void transpose(uint64_t* rows) {
  uint64_t mask = UINT32_MAX;
  for (uint32_t width = 32; width != 0; width /= 2, mask ^= mask << width) {
    for (uint32_t begin = 0; begin < 64; begin += 2 * width) {
      for (uint32_t i = begin; i < begin + width; ++i) {
        const uint64_t swapped = ((rows[i] >> width) ^ rows[i + width]) & mask;
        rows[i] ^= swapped << width;
        rows[i + width] ^= swapped;
      }
    }
  }
}

}  // namespace

StarGroups::StarGroups(const StarGrouping& grouping, const QueryLimits& limits)
    : grouping_(grouping),
      packer_(grouping.types, NullKeys::kEqual),
      table_(packer_, limits, kStarGroupsAre),
      states_(grouping.queries.size()),
      packed_(size_t{kVectorRows} * std::max<uint32_t>(packer_.words(), 1)),
      hashes_(kVectorRows),
      numbers_(kVectorRows),
      group_of_slot_(kVectorRows),
      groups_of_rows_(kVectorRows),
      bits_(size_t{64} * kVectorWords),
      charge_(limits.memory, kStarGroupsAre) {
  for (size_t i = 0; i < grouping.queries.size(); ++i) {
    const StarGrouping::Query& query = grouping.queries[i];
    const size_t word = query.number / 64;
    if (words_.empty() || words_.back().word != word) words_.push_back({word, 0, i, i});
    words_.back().queries |= uint64_t{1} << (query.number % 64);
    words_.back().end = i + 1;
    for (const Aggregate& aggregate : query.query->aggregates) {
      states_[i].aggregates.push_back(make_aggregate_column(aggregate, limits));
    }
    if (grouping.parts.empty()) grow(&states_[i]);
  }
  charge();
}

void StarGroups::select(const QueryRows& rows, uint32_t slots, Selection* selection) const {
  uint64_t wanted[kVectorWords] = {};
  if (!given_up_) {
    for (const Word& word : words_) {
      const uint64_t* const bits = rows.word(word.word);
      for (uint32_t i = 0; i < slots; ++i) {
        wanted[i / 64] |= uint64_t{(bits[i] & word.queries) != 0} << (i % 64);
      }
    }
  }
  select_bits(wanted, slots, selection);
}

void StarGroups::number(const Selection& selection, std::span<const Vector> keys) {
  StringLife life = StringLife::kQuery;
  for (const Vector& key : keys) {
    if (key.string_life == StringLife::kBatch) life = StringLife::kBatch;
  }
  packer_.pack(keys, selection, packed_.data(), hashes_.data());
  table_.find_or_insert(packed_.data(), hashes_.data(), selection.count, life, numbers_.data());
  for_numbered(selection, [&](uint32_t k, uint32_t slot) { group_of_slot_[slot] = numbers_[k]; });
}

void StarGroups::add(const QueryRows& rows, const Selection& selection,
                     std::span<const Vector> keys, std::span<const Vector> arguments) {
  if (!grouping_.parts.empty()) number(selection, keys);
  if (table_.size() > kGroupsGivenUp) {
    give_up();
    return;
  }
  for (const Word& word : words_) add_word(word, rows, selection, arguments);
  if (grown_) charge();
}

// Rows of the word's queries, each query's in bits_; then query by query.
void StarGroups::add_word(const Word& word, const QueryRows& rows, const Selection& selection,
                          std::span<const Vector> arguments) {
  const uint64_t* const sets = rows.word(word.word);
  const bool turns = word.end - word.first >= kTransposeMin;
  uint64_t wanted = 0;  // queries with a row
  for (uint32_t w = 0; w < words_of(selection.slots); ++w) {
    uint64_t square[64] = {};
    uint64_t any = 0;
    const uint32_t count = std::min(64U, selection.slots - w * 64);
    for (uint32_t i = 0; i < count; ++i) {
      square[i] = sets[w * 64 + i] & word.queries;
      any |= square[i];
    }
    wanted |= any;
    if (turns && any != 0) {
      transpose(square);
      for (size_t q = 0; q < 64; ++q) bits_[q * kVectorWords + w] = square[q];
      continue;
    }
    for (uint64_t left = word.queries; left != 0; left &= left - 1) {
      const auto q = static_cast<uint32_t>(std::countr_zero(left));
      uint64_t bits = 0;
      if (any != 0) {
        for (uint32_t i = 0; i < 64; ++i) bits |= ((square[i] >> q) & 1) << i;
      }
      bits_[q * kVectorWords + w] = bits;
    }
  }
  for (size_t i = word.first; i < word.end; ++i) {
    const uint32_t q = grouping_.queries[i].number % 64;
    if (((wanted >> q) & 1) == 0) continue;
    select_bits(bits_.data() + q * kVectorWords, selection.slots, &query_rows_);
    add_query(i, query_rows_, arguments);
  }
}

void StarGroups::add_query(size_t query, const Selection& rows, std::span<const Vector> arguments) {
  State& state = states_[query];
  const bool has_keys = !grouping_.parts.empty();
  if (has_keys) {
    if (state.seen.size() != table_.size()) grow(&state);
    uint8_t* const seen = state.seen.data();
    for_numbered(rows, [&](uint32_t k, uint32_t slot) {
      groups_of_rows_[k] = group_of_slot_[slot];
      seen[groups_of_rows_[k]] = 1;
    });
  }
  const std::vector<uint32_t>& wanted = grouping_.queries[query].arguments;
  for (size_t a = 0; a < wanted.size(); ++a) {
    const Vector argument =
        wanted[a] == StarGrouping::kNoArgument ? Vector() : arguments[wanted[a]];
    state.aggregates[a]->update(argument, rows, has_keys ? groups_of_rows_.data() : nullptr);
  }
}

void StarGroups::grow(State* state) {
  state->seen.resize(groups(), 0);
  for (const auto& aggregate : state->aggregates) aggregate->resize(groups());
  grown_ = true;
}

void StarGroups::charge() {
  size_t bytes = table_.memory_bytes();
  for (const State& state : states_) {
    bytes += state.seen.bytes();
    for (const auto& aggregate : state.aggregates) bytes += aggregate->memory_bytes();
  }
  charge_.set(bytes);
  grown_ = false;
}

void StarGroups::give_up() {
  given_up_ = true;
  states_.clear();
  charge();
}

void StarGroups::merge(const StarGroups& other, const StopSignal& stop) {
  stop.check();
  if (other.given_up_ && !given_up_) give_up();
  if (given_up_) return;
  const Workers alone(stop);
  std::vector<uint32_t> numbers(other.groups(), 0);
  if (!grouping_.parts.empty() && other.groups() != 0) {
    table_.find_or_insert(other.table_.keys(), other.table_.hashes(), other.groups(),
                          StringLife::kQuery, numbers.data());
  }
  for (size_t i = 0; i < states_.size(); ++i) {
    State& state = states_[i];
    const State& added = other.states_[i];
    if (added.seen.size() == 0) continue;
    grow(&state);
    for (size_t g = 0; g < added.seen.size(); ++g) state.seen[numbers[g]] |= added.seen[g];
    const GroupSplit whole(static_cast<uint32_t>(added.seen.size()));
    for (size_t a = 0; a < state.aggregates.size(); ++a) {
      state.aggregates[a]->merge(*added.aggregates[a], {whole, 0, numbers.data(), alone});
    }
  }
  charge();
}

void StarGroups::read(size_t query, uint32_t first, uint32_t count,
                      std::vector<VectorBuffer>* buffers, std::vector<Vector>* columns,
                      Selection* rows) const {
  const State& state = states_[query];
  // Groups that others made since the query last had a row are none of its own.
  const auto own = static_cast<uint32_t>(state.seen.size());
  const uint32_t there = first < own ? std::min(count, own - first) : 0;
  uint64_t bits[kVectorWords] = {};
  for (uint32_t i = 0; i < there; ++i) {
    if (grouping_.parts.empty() || state.seen[first + i] != 0) set_bit(bits, i);
  }
  select_bits(bits, there, rows);
  if (rows->count == 0) return;
  const size_t keys = grouping_.parts.size();
  for (size_t c = 0; c < keys; ++c) {
    (*columns)[c] = packer_.unpack(c, table_.keys(), first, there, &(*buffers)[c]);
  }
  for (size_t a = 0; a < state.aggregates.size(); ++a) {
    (*columns)[keys + a] = state.aggregates[a]->result(first, there, &(*buffers)[keys + a]);
  }
}

namespace {

class StarGroupSource : public MorselSource {
 public:
  StarGroupSource(const Operator& op, const StarGroups& groups, size_t query,
                  const std::vector<const StarValues*>& values, StagePtr next)
      : groups_(groups), query_(query), values_(values), next_(std::move(next)) {
    for (size_t c = 0; c < op.output.size(); ++c) {
      const PhysicalType type = physical_type(op.output[c]);
      const bool is_number = c < values.size() && values[c] != nullptr;
      DIPTYCH_CHECK(!is_number || values[c]->type() == type, "a value has its key's type");
      buffers_.emplace_back(is_number ? PhysicalType::kInt32 : type);
      values_buffers_.emplace_back(is_number ? type : PhysicalType::kBool);
    }
    batch_.columns.resize(buffers_.size());
    batch_.selection = &selection_;
  }

  bool run(uint64_t morsel) override {
    const auto first = static_cast<uint32_t>(morsel * kVectorRows);
    const uint32_t count = std::min(kVectorRows, groups_.groups() - first);
    groups_.read(query_, first, count, &buffers_, &batch_.columns, &selection_);
    if (selection_.count == 0) return true;
    for (size_t c = 0; c < values_.size(); ++c) {
      if (values_[c] == nullptr) continue;
      const auto* const numbers = static_cast<const uint32_t*>(batch_.columns[c].values);
      batch_.columns[c] = values_[c]->read(numbers, selection_.slots, &values_buffers_[c]);
    }
    // Texts lie in the pass, which may go before what keeps them.
    for (Vector& column : batch_.columns) column.string_life = StringLife::kBatch;
    return next_->push(batch_);
  }

 private:
  const StarGroups& groups_;
  const size_t query_;
  const std::vector<const StarValues*>& values_;
  StagePtr next_;
  std::vector<VectorBuffer> buffers_;
  std::vector<VectorBuffer> values_buffers_;
  Batch batch_;
  Selection selection_;
};

}  // namespace

uint64_t StarGroupRows::morsels() const {
  return (uint64_t{groups_.groups()} + kVectorRows - 1) / kVectorRows;
}

std::unique_ptr<MorselSource> StarGroupRows::source(StagePtr next) const {
  return std::make_unique<StarGroupSource>(op(), groups_, query_, values_, std::move(next));
}

}  // namespace diptych::olap
