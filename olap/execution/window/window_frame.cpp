#include "olap/execution/window/window_frame.h"

#include <algorithm>

#include "olap/execution/expression/comparison_kernels.h"

namespace diptych::olap {

FrameFinder::FrameFinder(const WindowOrder& order, const Operator& window, const Frame& frame,
                         PositionRange partition)
    : order_(order), window_(window), frame_(frame), partition_(partition), keyed_(partition) {
  if (frame.mode != FrameMode::kRange || window.sort_keys.size() != 1) return;
  const uint32_t column = window.sort_keys[0].column;
  while (!keyed_.empty() && order.is_null(column, keyed_.begin)) ++keyed_.begin;
  while (!keyed_.empty() && order.is_null(column, keyed_.end - 1)) --keyed_.end;
}

bool FrameFinder::only_grows() const {
  return frame_.start == FrameBound::kUnboundedPreceding &&
         frame_.exclusion == FrameExclusion::kNone;
}

PositionRange FrameFinder::whole(uint32_t position) const {
  return {start_of(position), end_of(position)};
}

std::array<PositionRange, 3> FrameFinder::runs(uint32_t position) const {
  const PositionRange frame = whole(position);
  if (frame_.exclusion == FrameExclusion::kNone) return {frame, {}, {}};
  const PositionRange peers = order_.peers(position);
  const bool current = frame_.exclusion == FrameExclusion::kCurrentRow;
  const PositionRange hole = current ? PositionRange{position, position + 1} : peers;
  const PositionRange before = {frame.begin, std::min(frame.end, hole.begin)};
  const PositionRange after = {std::max(frame.begin, hole.end), frame.end};
  if (frame_.exclusion != FrameExclusion::kTies) return {before, {}, after};
  const bool in_frame = position >= frame.begin && position < frame.end;
  const PositionRange own = {position, position + 1};
  return {before, in_frame ? own : PositionRange{}, after};
}

uint32_t FrameFinder::start_of(uint32_t position) const {
  const uint64_t offset = frame_.start_offset;
  const bool preceding = frame_.start == FrameBound::kPreceding;
  if (frame_.start == FrameBound::kUnboundedPreceding) return partition_.begin;
  if (frame_.start == FrameBound::kUnboundedFollowing) return partition_.end;
  const bool current = frame_.start == FrameBound::kCurrentRow;
  if (frame_.mode == FrameMode::kRows) {
    if (current) return position;
    if (!preceding) {
      return static_cast<uint32_t>(std::min<uint64_t>(partition_.end, position + offset));
    }
    return static_cast<uint32_t>(position -
                                 std::min<uint64_t>(offset, position - partition_.begin));
  }
  if (current) return order_.peers(position).begin;
  if (frame_.mode == FrameMode::kRange) return search(position, offset, false);
  const uint64_t group = order_.group_of[position];
  const uint64_t first = order_.group_of[partition_.begin];
  const uint64_t last = order_.group_of[partition_.end - 1];
  if (preceding) return order_.group_starts[group - std::min(offset, group - first)];
  return offset > last - group ? partition_.end : order_.group_starts[group + offset];
}

uint32_t FrameFinder::end_of(uint32_t position) const {
  const uint64_t offset = frame_.end_offset;
  const bool preceding = frame_.end == FrameBound::kPreceding;
  if (frame_.end == FrameBound::kUnboundedFollowing) return partition_.end;
  if (frame_.end == FrameBound::kUnboundedPreceding) return partition_.begin;
  const bool current = frame_.end == FrameBound::kCurrentRow;
  if (frame_.mode == FrameMode::kRows) {
    if (current) return position + 1;
    if (!preceding) {
      return static_cast<uint32_t>(position + 1 +
                                   std::min<uint64_t>(offset, partition_.end - position - 1));
    }
    return offset > position - partition_.begin ? partition_.begin
                                                : static_cast<uint32_t>(position + 1 - offset);
  }
  if (current) return order_.peers(position).end;
  if (frame_.mode == FrameMode::kRange) return search(position, offset, true);
  const uint64_t group = order_.group_of[position];
  const uint64_t first = order_.group_of[partition_.begin];
  const uint64_t last = order_.group_of[partition_.end - 1];
  if (preceding) {
    return offset > group - first ? partition_.begin : order_.group_starts[group - offset + 1];
  }
  return order_.group_starts[group + std::min(offset, last - group) + 1];
}

uint32_t FrameFinder::search(uint32_t position, uint64_t bound_column, bool after) const {
  const SortKey& key = window_.sort_keys[0];
  if (order_.is_null(key.column, position)) {
    const PositionRange peers = order_.peers(position);
    return after ? peers.end : peers.begin;
  }
  return with_physical_type(order_.rows->type(key.column), [&](auto value) {
    return search_typed<decltype(value)>(position, static_cast<uint32_t>(bound_column), after);
  });
}

template <class T>
uint32_t FrameFinder::search_typed(uint32_t position, uint32_t bound_column, bool after) const {
  const SortKey& key = window_.sort_keys[0];
  const T bound = order_.value<T>(bound_column, position);
  uint32_t low = keyed_.begin;
  uint32_t high = keyed_.end;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    const T& other = order_.value<T>(key.column, middle);
    const bool less = key.descending ? value_less(bound, other) : value_less(other, bound);
    const bool more = key.descending ? value_less(other, bound) : value_less(bound, other);
    const bool in_front = after ? !more : less;
    if (in_front) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace diptych::olap
