#include "oltp/batch_order.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/split_mix.h"

namespace diptych::oltp {

uint32_t BatchOrder::group_of(uint64_t hint) {
  const size_t mask = buckets_.size() - 1;
  for (size_t at = base::split_mix(hint) & mask;; at = (at + 1) & mask) {
    Bucket& bucket = buckets_[at];
    if (bucket.generation != generation_) {
      bucket = {generation_, static_cast<uint32_t>(groups_.size())};
      groups_.push_back({.hint = hint});
      return bucket.group;
    }
    if (groups_[bucket.group].hint == hint) return bucket.group;
  }
}

void BatchOrder::count_groups(std::span<const Hint> hints) {
  ++generation_;
  if (buckets_.size() < 2 * hints.size()) {
    buckets_.assign(std::bit_ceil(2 * hints.size()), Bucket{});
  }
  groups_.clear();
  group_.resize(hints.size());
  uint32_t unhinted = 0;
  for (size_t i = 0; i < hints.size(); ++i) {
    if (!hints[i]) {
      group_[i] = kNone;
      ++unhinted;
      continue;
    }
    group_[i] = group_of(*hints[i]);
    ++groups_[group_[i]].count;
  }
  groups_.push_back({.count = unhinted});
}

void BatchOrder::put(size_t worker, size_t count) {
  pieces_.push_back({static_cast<uint32_t>(worker), loads_[worker], static_cast<uint32_t>(count)});
  loads_[worker] += static_cast<uint32_t>(count);
}

void BatchOrder::place(Group* group, size_t workers, size_t most) {
  group->first_piece = static_cast<uint32_t>(pieces_.size());
  const size_t home = group->hint % workers;
  if (loads_[home] + group->count <= most) return put(home, group->count);
  while (loads_[roomy_] == most) ++roomy_;
  if (loads_[roomy_] + group->count <= most) return put(roomy_, group->count);
  size_t left = group->count;
  for (size_t worker = home; left > 0; worker = roomy_) {
    const size_t here = std::min(left, most - loads_[worker]);
    if (here > 0) put(worker, here);
    left -= here;
    // There is room for all: workers times `most` is more than the batch.
    while (left > 0 && loads_[roomy_] == most) ++roomy_;
  }
}

void BatchOrder::place_groups(size_t workers, size_t most) {
  loads_.assign(workers, 0);
  pieces_.clear();
  roomy_ = 0;
  for (Group& group : std::span(groups_).first(groups_.size() - 1)) place(&group, workers, most);
}

void BatchOrder::fill_up(size_t unhinted, size_t workers, size_t fair) {
  groups_.back().first_piece = static_cast<uint32_t>(pieces_.size());
  for (size_t worker = 0; unhinted > 0; ++worker) {
    DIPTYCH_CHECK(worker < workers, "fair shares of all are the batch");
    const size_t room = fair - std::min<size_t>(fair, loads_[worker]);
    const size_t here = std::min(room, unhinted);
    if (here > 0) put(worker, here);
    unhinted -= here;
  }
}

void BatchOrder::put_requests(std::span<Request* const> requests, size_t workers) {
  begins_.assign(workers + 1, 0);
  for (size_t i = 0; i < workers; ++i) begins_[i + 1] = begins_[i] + loads_[i];
  ordered_.resize(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    Group& group = group_[i] == kNone ? groups_.back() : groups_[group_[i]];
    Piece* piece = &pieces_[group.first_piece];
    if (piece->left == 0) piece = &pieces_[++group.first_piece];
    ordered_[begins_[piece->worker] + piece->at++] = requests[i];
    --piece->left;
  }
}

bool BatchOrder::arrange(std::span<Request* const> requests, std::span<const Hint> hints,
                         size_t workers) {
  DIPTYCH_CHECK(workers > 0 && hints.size() == requests.size(), "one hint a request");
  if (std::none_of(hints.begin(), hints.end(), [](const Hint& hint) { return hint.has_value(); })) {
    return false;
  }
  count_groups(hints);
  place_groups(workers, share_max(requests.size(), workers));
  fill_up(groups_.back().count, workers, (requests.size() + workers - 1) / workers);
  put_requests(requests, workers);
  return true;
}

}  // namespace diptych::oltp
