#include "storage/string_heap.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace diptych::storage {
namespace {

// Most strings have 13 to 32 bytes: two moves that may overlap, and no call.
void copy_bytes(const char* from, size_t bytes, char* to) {
  constexpr size_t kMove = 16;
  if (bytes < kMove || bytes > 2 * kMove) {
    std::memcpy(to, from, bytes);
    return;
  }
  std::memcpy(to, from, kMove);
  std::memcpy(to + bytes - kMove, from + bytes - kMove, kMove);
}

// Classes 0, 1, 2, ...: 16, 24, 32, 48, 64, 96, ...: class 2k is 16 << k, class 2k + 1 is 24 << k.
size_t class_of(size_t bytes) {
  if (bytes <= 16) return 0;
  const auto power = static_cast<size_t>(std::bit_width(bytes - 1)) - 1;  // 2^power < bytes
  const size_t half = bytes <= (size_t{3} << (power - 1)) ? 1 : 2;
  return (power - 4) * 2 + half;
}

size_t class_bytes(size_t size_class) {
  return (size_class % 2 == 0 ? size_t{16} : size_t{24}) << (size_class / 2);
}

}  // namespace

StringHeap::StringHeap(PagePool* pages, base::NumaNode node) : pool_(pages), node_(node) {
  DIPTYCH_CHECK(pages->page_bytes() == kCarvedBytesMax, "the largest cell fills a page");
}

StringHeap::~StringHeap() {
  for (std::byte* const page : pages_) pool_->give_back(page);
}

char* StringHeap::allocate_large(size_t bytes) {
  base::Region region(bytes, node_);
  char* const cell = reinterpret_cast<char*>(region.data());
  large_bytes_ += region.size();
  large_.emplace(cell, std::move(region));
  return cell;
}

void StringHeap::add_page() {
  pages_.push_back(pool_->take());
  page_used_ = 0;
}

char* StringHeap::allocate(size_t bytes) {
  if (bytes > kCarvedBytesMax) [[unlikely]]
    return allocate_large(bytes);
  const size_t size_class = class_of(bytes);
  DIPTYCH_DCHECK(size_class < kClasses, "kCarvedBytesMax is the last class");
  if (char* const cell = freed_[size_class]; cell != nullptr) {
    std::memcpy(&freed_[size_class], cell, sizeof(char*));
    return cell;
  }
  const size_t cell_bytes = class_bytes(size_class);
  if (page_used_ + cell_bytes > kCarvedBytesMax) [[unlikely]]
    add_page();
  char* const cell = reinterpret_cast<char*>(pages_.back()) + page_used_;
  page_used_ += cell_bytes;
  return cell;
}

void StringHeap::free(const char* cell, size_t bytes) {
  if (bytes > kCarvedBytesMax) {
    const auto found = large_.find(cell);
    DIPTYCH_CHECK(found != large_.end(), "a large string has its own region until it is freed");
    large_bytes_ -= found->second.size();
    large_.erase(found);
    return;
  }
  char*& head = freed_[class_of(bytes)];
  char* const freed = const_cast<char*>(cell);
  std::memcpy(freed, &head, sizeof head);
  head = freed;
}

base::StringRef StringHeap::store_long(std::string_view text) {
  DIPTYCH_CHECK(text.size() <= UINT32_MAX, "a StringRef's size has 32 bits");
  char* const cell = allocate(text.size());
  copy_bytes(text.data(), text.size(), cell);
  return base::StringRef(std::string_view(cell, text.size()));
}

void StringHeap::assign(base::StringRef* slot, std::string_view text) {
  DIPTYCH_CHECK(text.size() <= UINT32_MAX, "a StringRef's size has 32 bits");
  if (text.size() <= base::StringRef::kInlineBytes) {
    if (!slot->is_short()) free(slot->data(), slot->size());
    *slot = base::StringRef(text);
    return;
  }
  const bool same_cell = !slot->is_short() && slot->size() <= kCarvedBytesMax &&
                         text.size() <= kCarvedBytesMax &&
                         class_of(slot->size()) == class_of(text.size());
  if (!same_cell && !slot->is_short()) free(slot->data(), slot->size());
  char* const cell = same_cell ? const_cast<char*>(slot->data()) : allocate(text.size());
  copy_bytes(text.data(), text.size(), cell);
  *slot = base::StringRef(std::string_view(cell, text.size()));
}

void StringHeap::release(base::StringRef* slot) {
  if (!slot->is_short()) free(slot->data(), slot->size());
  *slot = base::StringRef();
}

}  // namespace diptych::storage
