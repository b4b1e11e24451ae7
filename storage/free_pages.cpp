#include "storage/free_pages.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "storage/page_words.h"

namespace diptych::storage {

namespace {

// So that adding as many throws nothing.
template <class Element>
void make_room(std::vector<Element>* elements, size_t more) {
  const size_t wanted = elements->size() + more;
  if (wanted > elements->capacity()) elements->reserve(std::max(wanted, 2 * elements->size()));
}

}  // namespace

void FreePages::add_extent() {
  make_room(&bits_, kExtentWords);
  make_room(&free_in_, 1);
  make_room(&longest_max_, 1);
  bits_.resize(bits_.size() + kExtentWords, ~uint64_t{0});
  free_in_.push_back(kExtentPages);
  longest_max_.push_back(kExtentPages);
  free_ += kExtentPages;
}

void FreePages::remove_last_extent() {
  DIPTYCH_CHECK(extents() != 0 && extent_is_free(extents() - 1),
                "only a free extent is given back");
  bits_.resize(bits_.size() - kExtentWords);
  free_in_.pop_back();
  longest_max_.pop_back();
  free_ -= kExtentPages;
}

std::optional<uint32_t> FreePages::first_in_extent(uint32_t extent, uint32_t pages) {
  const uint64_t* const words = bits_.data() + size_t{extent} * kExtentWords;
  uint32_t longest = 0;
  uint32_t run = 0;  // free pages that end where the search is
  for (uint32_t w = 0; w < kExtentWords; ++w) {
    uint64_t rest = words[w];
    uint32_t left = 64;  // bits of `rest` that were not looked at
    while (left != 0) {
      const uint32_t ones = std::min<uint32_t>(std::countr_one(rest), left);
      run += ones;
      if (run >= pages) return extent * kExtentPages + w * 64 + (64 - left) + ones - run;
      left -= ones;
      if (left == 0) break;
      longest = std::max(longest, run);
      run = 0;
      rest >>= ones;
      const uint32_t zeroes = std::min<uint32_t>(std::countr_zero(rest), left);
      left -= zeroes;
      if (left != 0) rest >>= zeroes;
    }
  }
  longest_max_[extent] = std::max(longest, run);  // E1
  return std::nullopt;
}

std::optional<uint32_t> FreePages::first_of_extents(uint32_t pages) const {
  const uint32_t whole = pages / kExtentPages;
  const uint32_t beginning = pages % kExtentPages;
  uint32_t run = 0;  // free extents that end where the search is
  for (uint32_t e = 0; e < extents(); ++e) {
    if (run >= whole && (beginning == 0 || all_free(e * kExtentPages, beginning))) {
      return (e - whole) * kExtentPages;
    }
    run = extent_is_free(e) ? run + 1 : 0;
  }
  if (beginning == 0 && run >= whole) return (extents() - whole) * kExtentPages;
  return std::nullopt;
}

std::optional<uint32_t> FreePages::take_first(uint32_t pages) {
  DIPTYCH_CHECK(pages != 0, "a run has pages");
  std::optional<uint32_t> first;
  if (pages > kExtentPages) {
    first = first_of_extents(pages);
  } else {
    for (uint32_t e = 0; e < extents() && !first; ++e) {
      if (longest_max_[e] >= pages) first = first_in_extent(e, pages);
    }
  }
  if (first) take(*first, pages);
  return first;
}

void FreePages::take(uint32_t first, uint32_t pages) {
  DIPTYCH_CHECK(uint64_t{first} + pages <= this->pages(), "pages are taken where there are some");
  for_page_words(first, pages, [this](uint32_t word, uint64_t mask) {
    DIPTYCH_CHECK((bits_[word] & mask) == mask, "a page is taken only while it is free");
    bits_[word] &= ~mask;
    free_in_[word / kExtentWords] -= static_cast<uint32_t>(std::popcount(mask));
  });
  free_ -= pages;
}

void FreePages::add(uint32_t first, uint32_t pages) {
  DIPTYCH_CHECK(uint64_t{first} + pages <= this->pages(), "pages are freed where there are some");
  for_page_words(first, pages, [this](uint32_t word, uint64_t mask) {
    DIPTYCH_CHECK((bits_[word] & mask) == 0, "a page is freed once");
    bits_[word] |= mask;
    const uint32_t extent = word / kExtentWords;
    free_in_[extent] += static_cast<uint32_t>(std::popcount(mask));
    longest_max_[extent] = free_in_[extent];  // E1
  });
  free_ += pages;
}

bool FreePages::all_free(uint32_t first, uint32_t pages) const {
  if (uint64_t{first} + pages > this->pages()) return false;
  bool all = true;
  for_page_words(first, pages,
                 [&](uint32_t word, uint64_t mask) { all = all && (bits_[word] & mask) == mask; });
  return all;
}

}  // namespace diptych::storage
