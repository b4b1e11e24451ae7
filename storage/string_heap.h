// StringHeap: strings that do not fit a StringRef (over 12 bytes), of the hot pages of one range
// of ordinals: it goes whole when they become a compressed block.
//
//   page, 64 KiB  | run: class 2 | run: class 7 | run: class 2 | unused |
//   another       | run: class 7                                        |
//   chunk pages   | string |   of over 16 KiB: pages of 4 KiB (chunk_heap.h)
//
// Size classes, two a power of two (16, 24, 32, 48, 64, 96, ...), each with a list of free cells
// that the next string of the class takes: a run of updates on data of constant size does not grow
// the heap. A class gets its cells in runs, each as long as its cells before, up to a page: few
// strings of many sizes share pages, and many of one size have theirs alone, which are free where
// these strings go. The pages are a pool's, which has them back when the heap goes.
//
// Where strings change their sizes, or had copies for a snapshot that has gone, free cells pile up
// in classes that need none. When they have become many, they are counted (a trim): a page without
// a string goes back to the pool, for any class and any heap, or to the system in time
// (string_pages.h). What is free is nobody's, and in no snapshot: a trim may come at any time.
//
// Memory     free at most: an eighth of the pages, or kFreeBytesMin, beside what lies in pages with
//            strings; and until the heap rests (trim_at_rest), as much again as that was.
// Cost       a trim looks at each free cell once or twice, after at least half of them were freed.
// Threads    one writer, the partition's, with which it also ends; readers follow StringRefs to
//            cells that are not written meanwhile (leaf.h).
// Owners     the range, and each leaf whose strings lie here: a snapshot's pages may outlive the
//            range's.
//
// Invariants
//   H1  A cell of a page is a string's, or in its class's list, or of the class's latest run and
//       was never taken.
//   H2  A page's runs begin where it does, without gaps, and have cell_bytes.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/string_ref.h"
#include "storage/shared_ref.h"
#include "storage/string_pages.h"

namespace diptych::storage {

class StringHeap : public Shared {
 public:
  static constexpr size_t kPageBytes = StringPages::kPageBytes;
  static constexpr size_t kFreeBytesMin = 512 * 1024;

  // `pages` outlives the heap.
  explicit StringHeap(StringPages* pages) : common_(pages) {}
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

  // Whether more is free than may be, and that has changed since it was last counted.
  bool wants_trim() const { return has_much_free() && free_bytes_ != trimmed_bytes_; }
  void trim();
  // trim(), if it wants that and has not changed since the call before. False: little is free.
  bool trim_at_rest();

  size_t memory_bytes() const { return pages_.size() * kPageBytes + large_bytes_; }
  size_t bytes_beside_pages() const;  // large strings, and the lists

 private:
  static constexpr size_t kClasses = 21;  // 16 bytes up to 16 KiB
  static constexpr size_t kNone = SIZE_MAX;

  struct Class {
    std::vector<char*> free;
    char* run = nullptr;  // the rest of the latest run
    char* run_end = nullptr;
    size_t bytes = 0;  // of all cells
  };
  struct Page {
    char* data;
    size_t cell_bytes;
    size_t free_bytes = 0;  // as the last trim() counted them

    bool is_free() const { return free_bytes == cell_bytes; }
  };

  base::StringRef store_long(std::string_view text);
  // Where a text of so many bytes goes that takes the place of `old`, a long one.
  char* replace(const base::StringRef& old, size_t bytes);
  char* allocate(size_t bytes);
  void free(const char* cell, size_t bytes);
  // The same, of cells of pages.
  char* take_cell(size_t size_class);
  void give_cell(const char* cell, size_t size_class);
  [[gnu::noinline]] char* allocate_large(size_t bytes);
  [[gnu::noinline]] void free_large(const char* cell, size_t bytes);
  [[gnu::noinline]] void begin_run(size_t size_class);
  Page& add_page();
  bool has_much_free() const {
    return free_bytes_ > std::max(kFreeBytesMin, pages_.size() * kPageBytes / 8);
  }
  // Within trim(). `guess`: any page.
  Page* page_of(const char* cell, Page* guess);
  void count_free_cells();
  void drop_free_cells();
  void drop_free_pages();
  void set_free_bytes_max();

  StringPages* common_;
  std::vector<Page> pages_;
  size_t mixed_ = kNone;  // the page that takes runs of several classes now
  std::array<Class, kClasses> classes_;
  size_t free_bytes_ = 0;                  // of the cells in lists
  size_t free_bytes_max_ = kFreeBytesMin;  // more: trim()
  size_t trimmed_bytes_ = 0;               // that the last trim() left free, or less
  size_t seen_free_bytes_ = 0;             // by the last trim_at_rest()
  bool is_watched_ = false;                // is in the list of common_
  size_t large_bytes_ = 0;
  std::unordered_map<const char*, size_t> large_;  // their strings' bytes
};

}  // namespace diptych::storage
