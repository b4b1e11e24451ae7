// StringHeap: strings that do not fit a StringRef (over 12 bytes), of the hot pages of one range
// of ordinals: it goes whole when they become a compressed block.
//
// Size classes, two a power of two (16, 24, 32, 48, 64, 96, ...), each with a list of freed cells
// that the next string of the class takes: a run of updates on data of constant size does not grow
// the heap. A freed cell's first 8 bytes link to the next. Cells are carved from pages of a pool,
// which has them back when the heap goes; a string of over kCarvedBytesMax gets a region of its
// own, unmapped when it is freed.
//
// Threads    one writer, the partition's, with which it also ends; readers follow StringRefs to
//            cells that are not written meanwhile (leaf.h).
// Owners     the range, and each leaf whose strings lie here: a snapshot's pages may outlive the
//            range's.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/arena.h"
#include "base/ids.h"
#include "base/string_ref.h"
#include "storage/page_pool.h"
#include "storage/shared_ref.h"

namespace diptych::storage {

class StringHeap : public Shared {
 public:
  static constexpr size_t kCarvedBytesMax = 64 * 1024;

  // `pages`: of kCarvedBytesMax; outlives the heap. `node`: of large strings.
  StringHeap(PagePool* pages, base::NumaNode node);
  StringHeap(const StringHeap&) = delete;
  StringHeap& operator=(const StringHeap&) = delete;
  ~StringHeap();

  // A copy of the text.
  base::StringRef store(std::string_view text) {
    if (text.size() <= base::StringRef::kInlineBytes) return base::StringRef(text);
    return store_long(text);
  }
  // Makes *slot hold a copy of the text. The slot must hold what this heap gave it, or be zero.
  void assign(base::StringRef* slot, std::string_view text);
  // Makes *slot the empty string and frees its cell.
  void release(base::StringRef* slot);

  size_t memory_bytes() const { return pages_.size() * kCarvedBytesMax + large_bytes_; }
  size_t large_bytes() const { return large_bytes_; }  // of those that are not in pages

 private:
  static constexpr size_t kClasses = 26;  // 16 bytes up to kCarvedBytesMax

  base::StringRef store_long(std::string_view text);
  char* allocate(size_t bytes);
  [[gnu::noinline]] char* allocate_large(size_t bytes);
  [[gnu::noinline]] void add_page();
  void free(const char* cell, size_t bytes);

  PagePool* pool_;
  base::NumaNode node_;
  std::vector<std::byte*> pages_;
  size_t page_used_ = kCarvedBytesMax;  // bytes of the last page; there is none at first
  size_t large_bytes_ = 0;
  std::array<char*, kClasses> freed_{};  // heads of the lists
  std::unordered_map<const char*, base::Region> large_;
};

}  // namespace diptych::storage
