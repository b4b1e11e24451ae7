#include "storage/space_map.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "storage/page_words.h"

namespace diptych::storage {
namespace {

constexpr uint32_t kMovedPagesMax = (64 << 20) / kFilePageBytes;  // in a save, of small files

}  // namespace

SpaceMap::SpaceMap(uint32_t extents) {
  if (extents != 0) grow(extents);
}

void SpaceMap::grow(uint32_t extents) {
  DIPTYCH_CHECK(extents <= kExtentsMax - free_.extents(), "pages of the file fit 32 bits");
  const bool has_header = free_.extents() != 0;
  // The bits first: where there is no memory for more extents, they have bits to spare.
  const size_t words = (size_t{free_.extents()} + extents) * (kExtentPages / 64);
  for (std::vector<uint64_t>* bits : {&used_, &durable_, &coming_}) {
    if (bits->size() < words) bits->resize(words);
    (*bits)[0] |= 1;
  }
  for (uint32_t e = 0; e < extents; ++e) free_.add_extent();
  if (!has_header) free_.take(0, 1);
}

std::optional<uint32_t> SpaceMap::allocate(uint32_t pages) {
  const std::optional<uint32_t> first = free_.take_first(pages);
  if (first) {
    for_page_words(*first, pages, [this](uint32_t word, uint64_t mask) { used_[word] |= mask; });
  }
  return first;
}

std::optional<uint32_t> SpaceMap::allocate_before(uint32_t end, uint32_t pages) {
  const std::optional<uint32_t> first = allocate(pages);
  if (!first || *first + uint64_t{pages} <= end) return first;
  release(*first, pages);
  return std::nullopt;
}

uint32_t SpaceMap::extents_to_grow(uint32_t pages) const {
  uint64_t extents = (uint64_t{pages} + kExtentPages - 1) / kExtentPages;
  if (free_.extents() == 0) {
    // The first extent has the header: a run of an extent's pages or more lies behind it.
    extents = pages < kExtentPages ? 1 : extents + 1;
  }
  // A long run begins in the free extents at the end.
  for (uint32_t e = free_.extents(); extents > 1 && e != 0 && free_.extent_is_free(e - 1); --e) {
    --extents;
  }
  return extents > kExtentsMax - free_.extents() ? 0 : static_cast<uint32_t>(extents);
}

void SpaceMap::release(uint32_t first, uint32_t pages) {
  DIPTYCH_CHECK(first != 0 && uint64_t{first} + pages <= free_.pages(),
                "chunks lie in the file, behind its header");
  for_page_words(first, pages, [this](uint32_t word, uint64_t mask) {
    DIPTYCH_CHECK((used_[word] & mask) == mask, "pages are released once");
    used_[word] &= ~mask;
    held_ += static_cast<uint32_t>(std::popcount(mask & durable_[word]));
    for_page_runs(word, mask & ~durable_[word],
                  [this](uint32_t run, uint32_t count) { free_.add(run, count); });
  });
}

bool SpaceMap::adopt(uint32_t first, uint32_t pages) {
  DIPTYCH_CHECK(!begun_, "what a manifest names is adopted before the next one is made");
  if (!free_.all_free(first, pages)) return false;
  free_.take(first, pages);
  for_page_words(first, pages, [this](uint32_t word, uint64_t mask) {
    used_[word] |= mask;
    durable_[word] |= mask;
  });
  return true;
}

void SpaceMap::begin_commit() {
  begun_ = true;
  coming_ = used_;
  for (size_t word = 0; word < used_.size(); ++word) durable_[word] |= used_[word];  // F2
}

uint32_t SpaceMap::commit() {
  if (!begun_) begin_commit();
  begun_ = false;
  held_ = 0;
  for (uint32_t word = 0; word < used_.size(); ++word) {
    for_page_runs(word, durable_[word] & ~coming_[word],
                  [this](uint32_t run, uint32_t count) { free_.add(run, count); });
    durable_[word] = coming_[word];
    held_ += static_cast<uint32_t>(std::popcount(coming_[word] & ~used_[word]));
  }
  give_back_extents();
  return pages();
}

void SpaceMap::give_back_extents() {
  while (free_.extents() != 0 && free_.extent_is_free(free_.extents() - 1)) {
    free_.remove_last_extent();
  }
  if (free_.extents() == 1 && free_.free() == kExtentPages - 1) {
    free_.add(0, 1);  // the header needs no extent
    free_.remove_last_extent();
  }
  for (std::vector<uint64_t>* bits : {&used_, &durable_, &coming_}) {
    bits->resize(free_.pages() / 64);
  }
}

uint32_t SpaceMap::moves_from() const {
  const uint64_t kept = pages() - free_pages();
  const uint64_t extents_max = (kept + kept / 4 + kExtentPages - 1) / kExtentPages + 1;
  const uint32_t moved_max = std::max(kMovedPagesMax, pages() / 16);
  uint32_t extents = free_.extents();
  for (uint32_t moved = 0; extents > extents_max; --extents) {
    moved += kExtentPages - free_.free_in(extents - 1);
    if (moved > moved_max) break;
  }
  return extents < free_.extents() ? extents * kExtentPages : pages();
}

uint32_t SpaceMap::pages() const {
  return free_.extents() == 0 ? 1 : free_.pages();
}

}  // namespace diptych::storage
