// StringPages: what the string heaps of a partition share: the pages that their strings lie in, and
// a list of the heaps that still have much free after they were trimmed (string_heap.h).
//
// Such a heap is trimmed again when it rests: to look through all that is free whenever a string
// goes would take longer than the strings do. And what trims give back goes to the system when
// nobody has taken it from one look to the next: rows that go and come would else pay for new
// memory each time. Pages of heaps that went stay: the rows of the next range want them.
//
// Threads    one owner, as its heaps: the partition's writer.

#pragma once

#include <cstddef>
#include <vector>

#include "base/ids.h"
#include "storage/page_pool.h"

namespace diptych::storage {

class StringHeap;

class StringPages {
 public:
  static constexpr size_t kPageBytes = 64 * 1024;

  explicit StringPages(base::NumaNode node) : pool_(kPageBytes, node) {}

  PagePool& pool() { return pool_; }
  const PagePool& pool() const { return pool_; }

  // A heap's own: it knows whether it is in the list.
  void watch(StringHeap* heap) { watched_.push_back(heap); }
  void forget(const StringHeap* heap) { std::erase(watched_, heap); }
  void note_given_back() { has_surplus_ = true; }  // by a trim
  // Between batches: trims what rests, and releases what is not used.
  void look();
  bool wants_look() const;  // something waits for that

 private:
  PagePool pool_;
  std::vector<StringHeap*> watched_;
  bool has_surplus_ = false;  // of pool_, or had
};

}  // namespace diptych::storage
