#include "storage/string_heap.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/alignment.h"
#include "base/check.h"
#include "storage/chunk_address.h"
#include "storage/chunk_heap.h"

namespace diptych::storage {
namespace {

constexpr size_t kCellBytesMax = 16 * 1024;       // larger strings have pages of their own
constexpr size_t kFirstRunBytes = 1024;           // of a class,
constexpr size_t kSharedRunBytesMax = 16 * 1024;  // and of those that share a page

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

size_t bytes_of_class(size_t size_class) {
  return (size_class % 2 == 0 ? size_t{16} : size_t{24}) << (size_class / 2);
}

}  // namespace

StringHeap::~StringHeap() {
  if (is_watched_) common_->forget(this);
  for (const Page& page : pages_) {
    common_->pool().give_back(reinterpret_cast<std::byte*>(page.data));
  }
  for (const auto& [cell, bytes] : large_) return_chunk_pages(const_cast<char*>(cell), bytes);
}

size_t StringHeap::bytes_beside_pages() const {
  size_t bytes = large_bytes_;
  for (const Class& cells : classes_) bytes += cells.free.capacity() * sizeof(char*);
  return bytes;
}

char* StringHeap::allocate_large(size_t bytes) {
  auto* const cell = static_cast<char*>(take_chunk_pages(bytes));
  try {
    large_.emplace(cell, bytes);
  } catch (...) {
    return_chunk_pages(cell, bytes);
    throw;
  }
  large_bytes_ += base::round_up(bytes, size_t{kFilePageBytes});
  return cell;
}

void StringHeap::free_large(const char* cell, size_t bytes) {
  const size_t found = large_.erase(cell);
  DIPTYCH_CHECK(found == 1, "a large string has its own pages until it is freed");
  return_chunk_pages(const_cast<char*>(cell), bytes);
  large_bytes_ -= base::round_up(bytes, size_t{kFilePageBytes});
}

StringHeap::Page& StringHeap::add_page() {
  if (pages_.size() == pages_.capacity()) pages_.reserve(2 * pages_.size() + 1);
  return pages_.emplace_back(Page{reinterpret_cast<char*>(common_->pool().take()), 0});
}

void StringHeap::begin_run(size_t size_class) {
  Class& cells = classes_[size_class];
  const size_t cell_bytes = bytes_of_class(size_class);
  size_t wanted = std::max({kFirstRunBytes, cell_bytes, cells.bytes});
  Page* page;
  if (wanted > kSharedRunBytesMax) {
    page = &add_page();
    wanted = kPageBytes;
  } else if (mixed_ == kNone || kPageBytes - pages_[mixed_].cell_bytes < cell_bytes) {
    page = &add_page();
    mixed_ = pages_.size() - 1;
  } else {
    page = &pages_[mixed_];
  }
  const size_t room = kPageBytes - page->cell_bytes;
  const size_t bytes = std::min(wanted, room) / cell_bytes * cell_bytes;
  cells.run = page->data + page->cell_bytes;
  cells.run_end = cells.run + bytes;
  cells.bytes += bytes;
  page->cell_bytes += bytes;
  set_free_bytes_max();
}

inline char* StringHeap::take_cell(size_t size_class) {
  DIPTYCH_DCHECK(size_class < kClasses, "kCellBytesMax is of the last class");
  Class& cells = classes_[size_class];
  const size_t cell_bytes = bytes_of_class(size_class);
  if (!cells.free.empty()) {
    char* const cell = cells.free.back();
    cells.free.pop_back();
    free_bytes_ -= cell_bytes;
    return cell;
  }
  if (cells.run == cells.run_end) [[unlikely]]
    begin_run(size_class);
  return std::exchange(cells.run, cells.run + cell_bytes);
}

inline void StringHeap::give_cell(const char* cell, size_t size_class) {
  // First, for it may fail as memory runs out: whoever has the cell keeps it then.
  if (free_bytes_ > free_bytes_max_) [[unlikely]]
    trim();
  classes_[size_class].free.push_back(const_cast<char*>(cell));
  free_bytes_ += bytes_of_class(size_class);
}

char* StringHeap::allocate(size_t bytes) {
  return bytes <= kCellBytesMax ? take_cell(class_of(bytes)) : allocate_large(bytes);
}

void StringHeap::free(const char* cell, size_t bytes) {
  bytes <= kCellBytesMax ? give_cell(cell, class_of(bytes)) : free_large(cell, bytes);
}

void StringHeap::set_free_bytes_max() {
  trimmed_bytes_ = std::min(trimmed_bytes_, free_bytes_);
  free_bytes_max_ = std::max({kFreeBytesMin, pages_.size() * kPageBytes / 8, 2 * trimmed_bytes_});
}

void StringHeap::trim() {
  const size_t mixed_before = std::exchange(mixed_, kNone);
  const char* const mixed = mixed_before == kNone ? nullptr : pages_[mixed_before].data;
  std::sort(pages_.begin(), pages_.end(),
            [](const Page& left, const Page& right) { return left.data < right.data; });
  count_free_cells();
  const auto is_free = [](const Page& page) { return page.is_free(); };
  if (std::any_of(pages_.begin(), pages_.end(), is_free)) {
    drop_free_cells();
    drop_free_pages();
  }
  const auto found = std::find_if(pages_.begin(), pages_.end(),
                                  [&](const Page& page) { return page.data == mixed; });
  mixed_ = found == pages_.end() ? kNone : static_cast<size_t>(found - pages_.begin());
  trimmed_bytes_ = free_bytes_;
  set_free_bytes_max();
  if (is_watched_ || !has_much_free()) return;
  common_->watch(this);
  is_watched_ = true;
}

bool StringHeap::trim_at_rest() {
  const bool rests = std::exchange(seen_free_bytes_, free_bytes_) == free_bytes_;
  if (rests && wants_trim()) trim();
  is_watched_ = has_much_free();
  return is_watched_;
}

StringHeap::Page* StringHeap::page_of(const char* cell, Page* guess) {
  if (cell >= guess->data && cell < guess->data + kPageBytes) return guess;
  const auto behind =
      std::upper_bound(pages_.begin(), pages_.end(), cell,
                       [](const char* of, const Page& page) { return of < page.data; });
  DIPTYCH_DCHECK(behind != pages_.begin(), "H1: a cell lies in a page");
  return &*std::prev(behind);
}

void StringHeap::count_free_cells() {
  for (Page& page : pages_) page.free_bytes = 0;
  Page* page = pages_.data();
  for (size_t i = 0; i < kClasses; ++i) {
    const Class& cells = classes_[i];
    for (const char* const cell : cells.free) {
      page = page_of(cell, page);
      page->free_bytes += bytes_of_class(i);
    }
    if (cells.run == cells.run_end) continue;
    page = page_of(cells.run, page);
    page->free_bytes += static_cast<size_t>(cells.run_end - cells.run);
  }
}

// Those of pages that go.
void StringHeap::drop_free_cells() {
  Page* page = pages_.data();
  const auto goes = [&](const char* cell) {
    page = page_of(cell, page);
    return page->is_free();
  };
  for (size_t i = 0; i < kClasses; ++i) {
    Class& cells = classes_[i];
    if (cells.run != cells.run_end && goes(cells.run)) {
      cells.bytes -= static_cast<size_t>(cells.run_end - cells.run);
      cells.run = cells.run_end;
    }
    const size_t bytes = std::erase_if(cells.free, goes) * bytes_of_class(i);
    if (bytes == 0) continue;
    cells.free.shrink_to_fit();
    cells.bytes -= bytes;
    free_bytes_ -= bytes;
  }
}

void StringHeap::drop_free_pages() {
  const auto from = std::partition(pages_.begin(), pages_.end(),
                                   [](const Page& page) { return !page.is_free(); });
  const auto kept = static_cast<size_t>(from - pages_.begin());
  while (pages_.size() != kept) {
    auto* const page = reinterpret_cast<std::byte*>(pages_.back().data);
    pages_.pop_back();
    common_->pool().give_back(page);
  }
  common_->note_given_back();
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
  char* const cell = slot->is_short() ? allocate(text.size()) : replace(*slot, text.size());
  copy_bytes(text.data(), text.size(), cell);
  *slot = base::StringRef(std::string_view(cell, text.size()));
}

inline char* StringHeap::replace(const base::StringRef& old, size_t bytes) {
  if (old.size() <= kCellBytesMax && bytes <= kCellBytesMax) [[likely]] {
    const size_t old_class = class_of(old.size());
    const size_t size_class = class_of(bytes);
    if (old_class == size_class) return const_cast<char*>(old.data());
    char* const cell = take_cell(size_class);
    give_cell(old.data(), old_class);
    return cell;
  }
  const bool stays = std::min(size_t{old.size()}, bytes) > kCellBytesMax &&
                     file_pages(old.size()) == file_pages(bytes);
  if (stays) return const_cast<char*>(old.data());
  char* const cell = allocate(bytes);
  free(old.data(), old.size());
  return cell;
}

void StringHeap::release(base::StringRef* slot) {
  if (!slot->is_short()) free(slot->data(), slot->size());
  *slot = base::StringRef();
}

}  // namespace diptych::storage
