#include "storage/partition_image.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "base/check.h"
#include "storage/buffer_manager.h"
#include "storage/compressed_block.h"
#include "storage/hot_page.h"
#include "storage/partition_store.h"
#include "storage/plain_block.h"

namespace diptych::storage {

const LeafFormat& PartitionImage::format() const {
  return store_->format();
}

const Leaf& PartitionImage::leaf_of(uint32_t ordinal, uint32_t* position) const {
  const auto behind = std::upper_bound(
      leaves_.begin(), leaves_.end(), ordinal,
      [](uint32_t of, const SharedRef<Leaf>& leaf) { return of < leaf->first_ordinal(); });
  DIPTYCH_CHECK(behind != leaves_.begin(), "S1: the ordinal was given out");
  const Leaf& found = **std::prev(behind);
  *position = ordinal - found.first_ordinal();
  return found;
}

// A page's memory is its pool's, and its strings its heap's: both have one user, the writer.
PartitionImage::~PartitionImage() {
  std::vector<std::unique_ptr<Leaf>> pages;
  for (SharedRef<Leaf>& leaf : leaves_) {
    std::unique_ptr<Leaf> last = leaf.give_up();
    if (last != nullptr && last->form() == LeafForm::kPlain) pages.push_back(std::move(last));
  }
  store_->take_back(std::move(pages));
}

PartitionStore::~PartitionStore() {
  reclaim();
  for (const SharedRef<Leaf>& leaf : leaves_) {
    DIPTYCH_CHECK(!leaf->is_shared(), "I2 of partition_image.h: images go first");
  }
}

StringHeap* PartitionStore::heap_of(const PlainLeaf& page) {
  const uint32_t range = page.first_ordinal() >> block_shift_;
  if (range >= ranges_.size() || ranges_[range].heap.get() != page.heap()) return nullptr;
  return ranges_[range].heap.get();
}

// Pages that no image has any more, and that the store had copied or dropped before. Where a range
// still has the heap, others take the cells of their strings; else that goes with its last page.
void PartitionStore::reclaim() {
  std::vector<std::unique_ptr<Leaf>> returned;
  {
    const std::lock_guard lock(returned_mutex_);
    returned.swap(returned_);
  }
  if (returned.empty()) return;
  for (const std::unique_ptr<Leaf>& leaf : returned) {
    auto& rows = static_cast<PlainLeaf&>(*leaf);
    if (heap_of(rows) != nullptr) rows.release_strings();
    if (const auto* const page = dynamic_cast<const HotPage*>(&rows)) {
      pages_.give_back(page->memory());
    }
  }
  for (const std::unique_ptr<Leaf>& leaf : returned) {
    StringHeap* const heap = heap_of(static_cast<const PlainLeaf&>(*leaf));
    if (heap != nullptr && heap->wants_trim()) heap->trim();
  }
  returned.clear();
  string_pages_.pool().release_surplus();
}

void PartitionStore::take_back(std::vector<std::unique_ptr<Leaf>> pages) {
  if (pages.empty()) return;
  const std::lock_guard lock(returned_mutex_);
  std::move(pages.begin(), pages.end(), std::back_inserter(returned_));
}

std::unique_ptr<PartitionImage> PartitionStore::cut() {
  DIPTYCH_CHECK(restored_.empty(), "finish_restore() goes before snapshots");
  reclaim();
  ++cuts_;
  std::unique_ptr<PartitionImage> image(new PartitionImage(this));
  image->leaves_ = leaves_;
  image->live_rows_ = live_rows();
  image->saved_.resize(ranges_.size());
  if (buffers_ == nullptr) return image;
  for (size_t i = 0; i < ranges_.size(); ++i) {
    Range& range = ranges_[i];
    if (is_compressed(range)) continue;
    if (range.changed || !range.saved) {
      range.saved = SharedRef<SavedPages>(std::make_unique<SavedPages>(&buffers_->file()));
      range.changed = false;
    }
    image->saved_[i] = range.saved;
  }
  return image;
}

SharedRef<Leaf> PartitionStore::copy_of(const Leaf& leaf) {
  if (leaf.form() == LeafForm::kCompressed) {
    return SharedRef<Leaf>(
        std::make_unique<CompressedBlock>(static_cast<const CompressedBlock&>(leaf), &kept_bytes_));
  }
  if (const auto* const page = dynamic_cast<const HotPage*>(&leaf)) {
    return SharedRef<Leaf>(std::make_unique<HotPage>(*page, pages_.take()));
  }
  return SharedRef<Leaf>(std::make_unique<PlainBlock>(static_cast<const PlainBlock&>(leaf), node_));
}

void PartitionStore::count_as_kept(Leaf* leaf) {
  if (leaf->form() == LeafForm::kCompressed) {
    leaf->keep(&kept_bytes_, static_cast<const CompressedBlock*>(leaf)->own_bytes());
    return;
  }
  const auto& rows = static_cast<const PlainLeaf&>(*leaf);
  leaf->keep(&kept_bytes_, format_.leaf_bytes(rows.capacity()) + rows.string_bytes());
}

Leaf& PartitionStore::make_own(Leaf* leaf) {
  if (!leaf->is_shared()) {
    leaf->set_cut(cuts_);
    return *leaf;
  }
  const auto place = std::lower_bound(leaves_.begin(), leaves_.end(), leaf->first_ordinal(),
                                      [](const SharedRef<Leaf>& other, uint32_t ordinal) {
                                        return other->first_ordinal() < ordinal;
                                      });
  DIPTYCH_CHECK(place != leaves_.end() && place->get() == leaf, "S2: the leaf has its place");
  SharedRef<Leaf> copy = copy_of(*leaf);
  copy->set_cut(cuts_);
  const uint32_t range = leaf->first_ordinal() >> block_shift_;
  const uint32_t rows = ranges_[range].is_block ? format_.block_rows : format_.page_rows;
  std::fill_n(directory_.begin() + (leaf->first_ordinal() >> page_shift_), rows >> page_shift_,
              copy.get());
  count_as_kept(leaf);
  std::swap(*place, copy);
  // Where the image went meanwhile, the leaf goes here; chunks that the copy has stay.
  drop_shared(std::move(copy));
  return **place;
}

void PartitionStore::drop_shared(SharedRef<Leaf> leaf) {
  std::unique_ptr<Leaf> last = leaf.give_up();
  if (last != nullptr && last->form() == LeafForm::kPlain) {
    std::vector<std::unique_ptr<Leaf>> pages;
    pages.push_back(std::move(last));
    take_back(std::move(pages));
  }
}

void PartitionStore::drop(SharedRef<Leaf> leaf) {
  if (leaf->form() == LeafForm::kCompressed) {
    static_cast<CompressedBlock&>(*leaf).keep_all(&kept_bytes_);
    return;
  }
  if (leaf->is_shared()) count_as_kept(leaf.get());
  const std::unique_ptr<Leaf> last = leaf.give_up();
  if (const auto* const page = dynamic_cast<const HotPage*>(last.get())) {
    pages_.give_back(page->memory());
  }
}

}  // namespace diptych::storage
