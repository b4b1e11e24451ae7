// BwBuild: makes a BwTree from sorted runs of entries: first the leaves, in several stretches in
// parallel, then the levels above them.
//
//   runs       a a d f | b e e | c g          each sorted, all disjoint
//   stretch    merges the runs' entries of its part of the key space into leaves
//   link       gives leaves their bounds and pages, and builds inner nodes up to the root
//
// Runs are merged by galloping: all entries of a run before the next run's first are copied at
// once, so runs that hardly overlap (rows loaded in the order of their keys) cost little more than
// a copy.
//
// Nodes are filled to kFill/16, because inserts into full leaves would split each of them.
//
// Threads    each stretch is one thread's; several run in parallel if the tree's memory is shared
//            (Concurrency::kShared). link runs alone. Nobody uses the tree meanwhile.

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "oltp/bw_pages.h"

namespace diptych::oltp {

template <class Pages>
class BwBuild {
 public:
  using Nodes = typename Pages::Nodes;
  using Entry = typename Pages::Entry;
  using Leaf = typename Pages::Leaf;
  using Inner = typename Pages::Inner;
  using Node = typename Pages::Node;
  using Word = typename Pages::Word;
  using Run = std::span<const Entry>;
  static constexpr uint32_t kFill = 14;  // sixteenths of a node

  // The leaves of one part of the key space.
  class Stretch {
   public:
    // `parts`: the part of each run that belongs to the stretch.
    void merge(Pages* pages, std::vector<Run> parts) {
      std::erase_if(parts, [](const Run& part) { return part.empty(); });
      uint64_t left = 0;
      for (const Run& part : parts) left += part.size();
      if (left == 0) return;
      const uint64_t leaf_count = (left + kLeafFill - 1) / kLeafFill;
      auto lane = pages->memory().enter();
      const auto is_later = [](const Run& a, const Run& b) { return b.front() < a.front(); };
      std::make_heap(parts.begin(), parts.end(), is_later);
      while (left != 0) {
        std::pop_heap(parts.begin(), parts.end(), is_later);
        Run& first = parts.back();
        const size_t count =
            parts.size() == 1 ? first.size() : gallop(first, parts.front().front());
        for (Run taken = first.first(count); !taken.empty();) {
          if (room_ == 0) {
            leaves_.push_back(lane->template take_node<Leaf>());
            // Leaves are filled evenly, so that none is nearly empty.
            const uint64_t leaves_left = leaf_count + 1 - leaves_.size();
            room_ = static_cast<uint32_t>((left + leaves_left - 1) / leaves_left);
          }
          const size_t fits = std::min<size_t>(room_, taken.size());
          append(taken.first(fits));
          taken = taken.subspan(fits);
          left -= fits;
        }
        first = first.subspan(count);
        first.empty() ? parts.pop_back() : std::push_heap(parts.begin(), parts.end(), is_later);
      }
    }

   private:
    friend class BwBuild;

    // The number of entries before `other`, which is at least one.
    static size_t gallop(const Run& run, const Entry& other) {
      size_t step = 1;
      while (step < run.size() && run[step] < other) step *= 2;
      const auto from = run.begin() + static_cast<std::ptrdiff_t>(step / 2);
      const auto until = run.begin() + static_cast<std::ptrdiff_t>(std::min(step, run.size()));
      return static_cast<size_t>(std::lower_bound(from, until, other) - run.begin());
    }
    void append(Run entries) {
      Leaf* const leaf = leaves_.back();
      for (const Entry& entry : entries) note_pair(last_, entry);
      std::copy(entries.begin(), entries.end(), leaf->entries + leaf->count);
      leaf->count += static_cast<uint32_t>(entries.size());
      leaf->newest = leaf->count - 1;
      room_ -= static_cast<uint32_t>(entries.size());
    }
    void note_pair(const Entry*& before, const Entry& entry) {
      if (before != nullptr && before->words == entry.words && !same_key_) {
        same_key_ = {before->row, entry.row};
      }
      before = &entry;
    }

    std::vector<Leaf*> leaves_;
    uint32_t room_ = 0;  // in the last of them
    const Entry* last_ = nullptr;
    std::optional<std::pair<uint64_t, uint64_t>> same_key_;
  };

  // Cuts the runs at the same places of the key space: [stretch][run].
  static std::vector<std::vector<Run>> cut(const std::vector<Run>& runs, uint32_t stretches) {
    std::vector<Entry> samples;
    for (const Run& run : runs) {
      const size_t step = std::max<size_t>(1, run.size() / kSamples);
      for (size_t i = 0; i < run.size(); i += step) samples.push_back(run[i]);
    }
    std::sort(samples.begin(), samples.end());
    std::vector<std::vector<Run>> parts(stretches);
    for (const Run& run : runs) {
      auto from = run.begin();
      for (uint32_t i = 0; i < stretches; ++i) {
        auto until = run.end();
        if (i + 1 < stretches && !run.empty()) {
          until = std::lower_bound(from, run.end(), samples[samples.size() * (i + 1) / stretches]);
        }
        parts[i].emplace_back(from, until);
        from = until;
      }
    }
    return parts;
  }

  // Fills an empty tree with the stretches' leaves, in their order. Returns two rows with the same
  // key, if there are any.
  static std::optional<std::pair<uint64_t, uint64_t>> link(Pages* pages,
                                                           std::vector<Stretch>* stretches) {
    std::optional<std::pair<uint64_t, uint64_t>> same_key;
    std::vector<Leaf*> leaves;
    for (Stretch& stretch : *stretches) {
      if (!same_key) same_key = stretch.same_key_;
      leaves.insert(leaves.end(), stretch.leaves_.begin(), stretch.leaves_.end());
    }
    if (leaves.empty()) return same_key;
    Level level;
    leaves.front()->low = Entry{};
    for (size_t i = 0; i < leaves.size(); ++i) {
      Entry bound = Entry::infinity();
      if (i + 1 < leaves.size()) {
        const Entry& last = leaves[i]->entries[leaves[i]->count - 1];
        bound = leaves[i + 1]->entries[0];
        // As in a split of a leaf: all entries of a key stay in one leaf if they can.
        if (bound.words != last.words) {
          bound.row = 0;
        } else if (!same_key) {
          same_key = {last.row, bound.row};
        }
        leaves[i + 1]->low = bound;
      }
      leaves[i]->high = bound;
      level.push_back({leaves[i], bound});
    }
    while (level.size() > 1) level = parents_of(pages, level);
    pages->replace_root(level.front().node);
    return same_key;
  }

 private:
  static constexpr uint32_t kLeafFill = std::max(2u, Nodes::kEntriesMax* kFill / 16);
  static constexpr uint32_t kInnerFill = std::max(3u, Nodes::kChildrenMax* kFill / 16);
  static constexpr size_t kSamples = 256;  // of each run

  struct Child {
    Node* node;
    Entry bound;  // upper
  };
  using Level = std::vector<Child>;

  static Level parents_of(Pages* pages, const Level& children) {
    Level parents;
    auto lane = pages->memory().enter();
    const size_t count = (children.size() + kInnerFill - 1) / kInnerFill;
    for (size_t i = 0; i < count; ++i) {
      const size_t first = children.size() * i / count;
      const size_t end = children.size() * (i + 1) / count;
      Inner* const inner = lane->template take_node<Inner>();
      inner->level = children.front().node->level + 1;
      inner->count = static_cast<uint32_t>(end - first);
      for (size_t child = first; child < end; ++child) {
        Word* const page = lane->take_page();
        // relaxed: nobody uses the tree yet.
        page->store(reinterpret_cast<uint64_t>(children[child].node), std::memory_order_relaxed);
        inner->children[child - first] = page;
        inner->separators[child - first] = children[child].bound;
      }
      inner->seal();
      parents.push_back({inner, children[end - 1].bound});
    }
    return parents;
  }
};

}  // namespace diptych::oltp
