// Aggregates over frames: compute_window_aggregate of window.h.
//
// An aggregate is a state with an identity, to which rows and states of later rows are added, and a
// value at the end. A frame that only grows runs one state along; any other asks a segment tree.

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <type_traits>

#include "base/check.h"
#include "olap/execution/expression/arithmetic_kernels.h"
#include "olap/execution/expression/comparison_kernels.h"
#include "olap/execution/group/interval_sums.h"
#include "olap/execution/group/moments.h"
#include "olap/execution/limits/query_failure.h"
#include "olap/execution/window/window_frame.h"

namespace diptych::olap {

namespace {

// An argument's column as the store has it, so that it is not asked of the store row by row.
struct FrameArgument {
  const std::byte* values;
  const uint8_t* nulls;  // a byte a row; or nullptr
};

// One function's arguments by position, and its results.
struct FrameCall {
  const WindowOrder& order;
  const WindowFunction& function;
  WindowResults* results;
  FrameArgument arguments[2];  // string_agg and covar_pop have as many

  bool is_null(uint32_t position, size_t argument = 0) const {
    const uint8_t* const nulls = arguments[argument].nulls;
    return nulls != nullptr && nulls[position] != 0;
  }
  template <class T>
  const T& value(uint32_t position, size_t argument = 0) const {
    return reinterpret_cast<const T*>(arguments[argument].values)[position];
  }
  void write(uint32_t position, std::optional<double> result) const {
    if (result) {
      results->values<double>()[position] = *result;
    } else {
      results->nulls[position] = 1;
    }
  }
};

FrameCall make_call(const WindowOrder& order, const WindowFunction& function,
                    WindowResults* results) {
  FrameCall call{order, function, results, {}};
  DIPTYCH_CHECK(function.arguments.size() <= std::size(call.arguments), "there is room for them");
  for (size_t i = 0; i < function.arguments.size(); ++i) {
    const uint32_t column = function.arguments[i];
    call.arguments[i] = {order.rows->values<std::byte>(column), order.rows->nulls(column)};
  }
  return call;
}

class CountState {
 public:
  void add(const FrameCall& call, uint32_t position) {
    const bool all = call.function.aggregate == AggregateKind::kCountAll;
    count_ += all || !call.is_null(position) ? 1 : 0;
  }
  void merge(const CountState& other) { count_ += other.count_; }
  void write(const FrameCall& call, uint32_t position) const {
    call.results->values<int64_t>()[position] = count_;
  }

 private:
  int64_t count_ = 0;
};

template <class T>
class SumState {
 public:
  using Sum = std::conditional_t<std::is_same_v<T, double>, double, ExactSum>;

  void add(const FrameCall& call, uint32_t position) {
    if (call.is_null(position)) return;
    const T value = call.value<T>(position);
    if constexpr (std::is_same_v<T, double>) is_finite_ &= std::isfinite(value);
    add(value, 1);
  }
  void merge(const SumState& other) {
    is_finite_ &= other.is_finite_;
    add(other.sum_, other.count_);
  }
  void write(const FrameCall& call, uint32_t position) const {
    if (count_ == 0) {
      call.results->nulls[position] = 1;
      return;
    }
    const bool average = call.function.aggregate == AggregateKind::kAvg;
    if constexpr (std::is_same_v<T, double>) {
      if (is_finite_ && !std::isfinite(sum_)) fail_value(kDoubleOverflow);
      const double value = average ? sum_ / static_cast<double>(count_) : sum_;
      call.results->values<double>()[position] = value;
    } else {
      write_exact(call, position, average);
    }
  }

 private:
  template <class Added>
  void add(const Added& sum, int64_t count) {
    count_ += count;
    sum_ += sum;
  }
  void write_exact(const FrameCall& call, uint32_t position, bool average) const {
    const base::DataType& type = call.function.type;
    if (type.kind == base::TypeKind::kBigInt) {
      const int128_t value = sum_.low();  // of integers of 64 bits
      if (value != static_cast<int64_t>(value)) fail_value(kBigIntOutOfRange);
      call.results->values<int64_t>()[position] = static_cast<int64_t>(value);
      return;
    }
    const auto digits =
        average ? static_cast<unsigned>(type.scale - call.function.argument_scale) : 0;
    const auto value = sum_as_decimal(sum_, count_, average, power_of_ten(digits));
    if (!value) fail_value(kDecimalOutOfRange);
    call.results->values<int128_t>()[position] = *value;
  }

  Sum sum_{};
  int64_t count_ = 0;
  bool is_finite_ = true;  // is each DOUBLE
};

class IntervalSumState {
 public:
  void add(const FrameCall& call, uint32_t position) {
    if (!call.is_null(position)) total_.add(call.value<base::Interval>(position));
  }
  void merge(const IntervalSumState& other) { total_.add(other.total_); }
  void write(const FrameCall& call, uint32_t position) const {
    if (total_.count == 0) {
      call.results->nulls[position] = 1;
    } else {
      call.results->values<base::Interval>()[position] = total_.value(call.function.aggregate);
    }
  }

 private:
  IntervalTotal total_;
};

template <class T>
class ExtremeState {
 public:
  void add(const FrameCall& call, uint32_t position) {
    if (call.is_null(position)) return;
    is_max_ = call.function.aggregate == AggregateKind::kMax;
    offer(call.value<T>(position));
  }
  void merge(const ExtremeState& other) {
    if (other.best_ == nullptr) return;
    is_max_ = other.is_max_;
    offer(*other.best_);
  }
  void write(const FrameCall& call, uint32_t position) const {
    if (best_ == nullptr) {
      call.results->nulls[position] = 1;
    } else {
      call.results->values<T>()[position] = *best_;
    }
  }

 private:
  // The value stays where it is.
  void offer(const T& value) {
    const bool better =
        best_ == nullptr || (is_max_ ? value_less(*best_, value) : value_less(value, *best_));
    if (better) best_ = &value;
  }

  const T* best_ = nullptr;
  bool is_max_ = false;
};

template <class T>
class MomentsState {
 public:
  void add(const FrameCall& call, uint32_t position) {
    if (!call.is_null(position)) moments_.add(call.value<T>(position));
  }
  void merge(const MomentsState& other) { moments_.add(other.moments_); }
  void write(const FrameCall& call, uint32_t position) const {
    const WindowFunction& function = call.function;
    if constexpr (std::is_same_v<T, double>) {
      call.write(position, moments_.value(function.aggregate));
    } else {
      call.write(position, moments_.value(function.aggregate, function.argument_scale));
    }
  }

 private:
  std::conditional_t<std::is_same_v<T, double>, Moments, ShiftedMoments<T>> moments_;
};

// covar_pop of y and x.
class PairState {
 public:
  void add(const FrameCall& call, uint32_t position) {
    if (call.is_null(position) || call.is_null(position, 1)) return;
    moments_.add(call.value<double>(position), call.value<double>(position, 1));
  }
  void merge(const PairState& other) { moments_.add(other.moments_); }
  void write(const FrameCall& call, uint32_t position) const {
    call.write(position, moments_.covariance());
  }

 private:
  PairMoments moments_;
};

template <class T>
class BitsState {
 public:
  void add(const FrameCall& call, uint32_t position) {
    if (!call.is_null(position)) add(call.value<T>(position), call.function.aggregate);
  }
  void merge(const BitsState& other) {
    if (other.seen()) add(other.bits_, other.kind_);
  }
  void write(const FrameCall& call, uint32_t position) const {
    if (!seen()) call.results->nulls[position] = 1;
    call.results->values<T>()[position] = bits_;
  }

 private:
  void add(T bits, AggregateKind kind) {
    switch (kind_) {
      case AggregateKind::kBitAnd: bits_ &= bits; break;
      case AggregateKind::kBitOr: bits_ |= bits; break;
      case AggregateKind::kBitXor: bits_ ^= bits; break;
      default: bits_ = bits; kind_ = kind;
    }
  }
  bool seen() const { return kind_ != AggregateKind::kCountAll; }

  T bits_ = 0;
  AggregateKind kind_ = AggregateKind::kCountAll;  // that is: there is no value yet
};

// States of runs of positions of one partition: node i has those of 2i and 2i + 1, a leaf those of
// kLeafRows positions. What a frame has of a leaf at either end is asked of the rows: of more of
// them than a leaf of 4 has, that costs more than a larger tree. Benchmark: BM_WindowFrame.
template <class State>
class SegmentTree {
 public:
  SegmentTree(const FrameCall& call, PositionRange partition)
      : call_(call), first_(partition.begin), leaves_(partition.size() / kLeafRows) {
    nodes_.resize(2 * size_t{leaves_});
    for (uint32_t leaf = 0; leaf < leaves_; ++leaf) {
      call.order.stop->check_at(uint64_t{leaf} * kLeafRows);
      State& state = nodes_[size_t{leaves_} + leaf] = {};
      add_rows(leaf * kLeafRows, (leaf + 1) * kLeafRows, &state);
    }
    for (uint32_t i = leaves_; i-- > 1;) {
      call.order.stop->check_at(i);
      nodes_[i] = nodes_[2 * size_t{i}];
      nodes_[i].merge(nodes_[2 * size_t{i} + 1]);
    }
  }

  void merge_into(PositionRange run, State* state) const {
    if (run.empty()) return;
    const uint32_t begin = run.begin - first_;
    const uint32_t end = run.end - first_;
    const uint32_t first_leaf = begin / kLeafRows + (begin % kLeafRows != 0 ? 1 : 0);
    const uint32_t end_leaf = end / kLeafRows;
    if (first_leaf >= end_leaf) return add_rows(begin, end, state);
    add_rows(begin, first_leaf * kLeafRows, state);
    merge_leaves(first_leaf, end_leaf, state);
    add_rows(end_leaf * kLeafRows, end, state);
  }

 private:
  static constexpr uint32_t kLeafRows = kSegmentTreeLeafRows;
  static_assert(2 * sizeof(State) <= 128, "WindowTable charges as much a leaf");

  // Both count from the partition's first row.
  void add_rows(uint32_t begin, uint32_t end, State* state) const {
    for (uint32_t i = begin; i < end; ++i) state->add(call_, first_ + i);
  }
  void merge_leaves(uint32_t begin, uint32_t end, State* state) const {
    size_t left = size_t{leaves_} + begin;
    size_t right = size_t{leaves_} + end;
    State behind{};
    for (; left < right; left /= 2, right /= 2) {
      if (left % 2 == 1) state->merge(nodes_[left++]);
      if (right % 2 == 1) {
        State nearer = nodes_[--right];
        nearer.merge(behind);
        behind = nearer;
      }
    }
    state->merge(behind);
  }

  const FrameCall& call_;
  uint32_t first_;
  uint32_t leaves_;
  GrowingArray<State> nodes_;  // from 1
};

template <class State>
void compute(const FrameCall& call, const FrameFinder& frames, PositionRange partition) {
  if (frames.only_grows()) {
    State state{};
    uint32_t reached = partition.begin;
    for (uint32_t i = partition.begin; i < partition.end; ++i) {
      call.order.stop->check_at(i);
      const uint32_t end = frames.whole(i).end;
      for (; reached < end; ++reached) state.add(call, reached);
      state.write(call, i);
    }
    return;
  }
  const SegmentTree<State> tree(call, partition);
  for (uint32_t i = partition.begin; i < partition.end; ++i) {
    call.order.stop->check_at(i);
    State state{};
    for (const PositionRange& run : frames.runs(i)) tree.merge_into(run, &state);
    state.write(call, i);
  }
}

// string_agg: the text of the row before grows, or is the same, where the frame does or is.
class FrameText {
 public:
  FrameText(const FrameCall& call, VectorTexts* texts)
      : call_(call), texts_(texts), countdown_(call.order.stop), text_(texts->empty_text()) {}

  void write(const std::array<PositionRange, 3>& runs, uint32_t position) {
    if (!exists_ || runs != runs_) {
      const bool grows = runs[0].begin == runs_[0].begin && runs[0].end >= runs_[0].end &&
                         runs_[1].empty() && runs_[2].empty();
      if (!grows) clear();
      append({std::max(runs[0].begin, runs_[0].end), runs[0].end});
      append(runs[1]);
      append(runs[2]);
      runs_ = runs;
      countdown_.pass(text_.size());
      if (exists_) kept_ = texts_->keep(base::StringRef(text_));
    }
    call_.results->nulls[position] = exists_ ? 0 : 1;
    if (exists_) call_.results->values<base::StringRef>()[position] = kept_;
  }

 private:
  void clear() {
    text_.clear();
    exists_ = false;
    runs_ = {};
  }
  void append(PositionRange run) {
    for (uint32_t i = run.begin; i < run.end; ++i) {
      const size_t before = text_.size();
      if (!call_.is_null(i)) {
        if (exists_ && !call_.is_null(i, 1)) text_ += call_.value<base::StringRef>(i, 1).view();
        text_ += call_.value<base::StringRef>(i).view();
        exists_ = true;
      }
      countdown_.pass(1 + text_.size() - before);  // also of rows without a text there may be many
      if (text_.size() > UINT32_MAX) fail_value("text too long", "54000");
    }
  }

  const FrameCall& call_;
  VectorTexts* texts_;
  StopCountdown countdown_;
  std::array<PositionRange, 3> runs_{};
  CountedText text_;
  base::StringRef kept_;
  bool exists_ = false;
};

}  // namespace

void compute_window_aggregate(const WindowOrder& order, const Operator& window,
                              const WindowFunction& function, PositionRange partition,
                              WindowResults* results, VectorTexts* texts) {
  const FrameCall call = make_call(order, function, results);
  const FrameFinder frames(order, window, function.frame, partition);
  switch (function.aggregate) {
    case AggregateKind::kCountAll:
    case AggregateKind::kCount: return compute<CountState>(call, frames, partition);
    case AggregateKind::kVarSamp:
    case AggregateKind::kVarPop:
    case AggregateKind::kStddevSamp:
    case AggregateKind::kStddevPop:
      switch (order.rows->type(function.arguments[0])) {
        case PhysicalType::kInt32: return compute<MomentsState<int32_t>>(call, frames, partition);
        case PhysicalType::kInt64: return compute<MomentsState<int64_t>>(call, frames, partition);
        case PhysicalType::kInt128: return compute<MomentsState<int128_t>>(call, frames, partition);
        default: return compute<MomentsState<double>>(call, frames, partition);
      }
    case AggregateKind::kMin:
    case AggregateKind::kMax:
      return with_physical_type(results->type, [&](auto type) {
        compute<ExtremeState<decltype(type)>>(call, frames, partition);
      });
    case AggregateKind::kCovarPop: return compute<PairState>(call, frames, partition);
    case AggregateKind::kBitAnd:
    case AggregateKind::kBitOr:
    case AggregateKind::kBitXor:
      return results->type == PhysicalType::kInt32
                 ? compute<BitsState<int32_t>>(call, frames, partition)
                 : compute<BitsState<int64_t>>(call, frames, partition);
    case AggregateKind::kStringAgg: {
      FrameText text(call, texts);
      for (uint32_t i = partition.begin; i < partition.end; ++i) {
        order.stop->check_at(i);
        text.write(frames.runs(i), i);
      }
      return;
    }
    case AggregateKind::kSum:
    case AggregateKind::kAvg: break;
    default: fail_query(base::ErrorCode::kUnsupported, "this aggregate has no window form");
  }
  switch (order.rows->type(function.arguments[0])) {
    case PhysicalType::kInt32: return compute<SumState<int32_t>>(call, frames, partition);
    case PhysicalType::kInt64: return compute<SumState<int64_t>>(call, frames, partition);
    case PhysicalType::kInt128: return compute<SumState<int128_t>>(call, frames, partition);
    case PhysicalType::kDouble: return compute<SumState<double>>(call, frames, partition);
    case PhysicalType::kInterval: return compute<IntervalSumState>(call, frames, partition);
    default: fail_query(base::ErrorCode::kUnsupported, "sum and avg are of numbers and intervals");
  }
}

}  // namespace diptych::olap
