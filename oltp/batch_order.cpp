#include "oltp/batch_order.h"

#include <algorithm>
#include <bit>
#include <utility>

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

// In turns, so that the long ones among those that come together are not all one worker's.
void BatchOrder::fill_up(size_t unhinted, size_t workers, size_t fair) {
  groups_.back().first_piece = static_cast<uint32_t>(pieces_.size());
  for (size_t worker = 0; unhinted > 0; worker = (worker + 1) % workers) {
    if (loads_[worker] >= fair) continue;  // fair shares of all are the batch: somebody has room
    put(worker, 1);
    --unhinted;
  }
}

void BatchOrder::put_requests(std::span<Request* const> requests, size_t workers) {
  begins_.assign(workers + 1, 0);
  for (size_t i = 0; i < workers; ++i) begins_[i + 1] = begins_[i] + loads_[i];
  by_hint_.resize(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    Group& group = group_[i] == kNone ? groups_.back() : groups_[group_[i]];
    Piece* piece = &pieces_[group.first_piece];
    if (piece->left == 0) piece = &pieces_[++group.first_piece];
    by_hint_[begins_[piece->worker] + piece->at++] = requests[i];
    --piece->left;
  }
}

void BatchOrder::rank_procedures(std::span<Request* const> requests) {
  ranked_ = 0;
  for (const Request* request : requests) {
    const uint32_t procedure = request->procedure.value;
    if (procedure >= ranks_.size()) ranks_.resize(procedure + 1);
    Bucket& rank = ranks_[procedure];
    if (rank.generation != generation_) rank = {generation_, ranked_++};
  }
}

void BatchOrder::put_by_procedure(std::span<Request* const> requests, std::span<Request*> grouped) {
  const auto rank_of = [&](const Request* request) {
    return ranks_[request->procedure.value].group;
  };
  places_.assign(ranked_, 0);
  for (const Request* request : requests) ++places_[rank_of(request)];
  uint32_t before = 0;
  for (uint32_t& place : places_) before += std::exchange(place, before);
  for (Request* request : requests) grouped[places_[rank_of(request)]++] = request;
}

void BatchOrder::arrange(std::span<Request* const> requests, std::span<const Hint> hints,
                         size_t workers) {
  DIPTYCH_CHECK(workers > 0, "somebody runs them");
  ++generation_;
  rank_procedures(requests);
  ordered_.resize(requests.size());
  if (workers == 1) {
    begins_ = {0, static_cast<uint32_t>(requests.size())};
    return put_by_procedure(requests, ordered_);
  }
  DIPTYCH_CHECK(hints.size() == requests.size(), "one hint a request");
  count_groups(hints);
  place_groups(workers, share_max(requests.size(), workers));
  fill_up(groups_.back().count, workers, (requests.size() + workers - 1) / workers);
  put_requests(requests, workers);
  for (size_t i = 0; i < workers; ++i) {
    put_by_procedure(part_of(std::span<Request* const>(by_hint_), i),
                     part_of(std::span(ordered_), i));
  }
}

}  // namespace diptych::oltp
