// PartitionImage: what a partition was at a cut (storage/replica_snapshot.h). Its leaves, shared
// with the live partition until that writes to them.
//
//   cut: the image has the leaves ──the writer would write to one──► the writer has a copy of it
//   the image goes: what it alone has goes, too; pages by way of the partition's writer, whose
//                   pool and heap they are of
//
// Threads    readers: any number, beside the partition's writer. save: one of all images of a
//            partition at a time. The destructor: any thread, with no reader.
//
// Invariants
//   I1  Nothing that an image has is written.
//   I2  An image goes before its partition.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "storage/leaf.h"
#include "storage/leaf_directory.h"
#include "storage/leaf_format.h"
#include "storage/plain_leaf.h"
#include "storage/save_pace.h"
#include "storage/shared_ref.h"

namespace diptych::storage {

class BlockFile;
class PartitionStore;

// The rows of a range's pages in the block file, as of some moment: none yet, until a save has
// written them. Its owners are the range, as long as the pages have these rows, and images; where
// the last one goes, their place in the file is free.
class SavedPages : public Shared {
 public:
  explicit SavedPages(BlockFile* file) : file_(file) {}
  ~SavedPages() { clear(); }

  // Read from the file: the next of its leaves.
  void add(SavedLeaf leaf) { leaves_.push_back(std::move(leaf)); }
  // Whoever saves, alone.
  bool is_written() const { return !leaves_.empty(); }
  const SavedPartition& leaves() const { return leaves_; }
  // Of adjacent pages. Where it fails, or throws as memory runs out, nothing is written.
  base::Result<void> write(const LeafFormat& format, std::span<const PlainLeaf* const> pages,
                           const SavePace& pace);
  // Of what is written: moves what should move in the file. kIo, and the pace's.
  base::Result<void> move(const SavePace& pace);

 private:
  base::Result<void> write_leaves(const LeafFormat& format, std::span<const PlainLeaf* const> pages,
                                  const SavePace& pace);
  base::Result<void> write_leaf(const LeafFormat& format, std::span<const PlainLeaf* const> pages,
                                const SavePace& pace);
  void clear();

  BlockFile* const file_;
  SavedPartition leaves_;
};

class PartitionImage {
 public:
  PartitionImage(const PartitionImage&) = delete;
  PartitionImage& operator=(const PartitionImage&) = delete;
  ~PartitionImage();

  const LeafFormat& format() const;
  size_t leaf_count() const { return leaves_.size(); }
  const Leaf& leaf(size_t index) const { return *leaves_[index]; }
  const Leaf& leaf_of(uint32_t ordinal, uint32_t* position) const;
  uint64_t live_rows() const { return live_rows_; }

  // Writes what changed since it was written to the block file; where all of it lies. kNoSpace,
  // kIo, and the pace's: nothing is lost.
  base::Result<SavedPartition> save(const SavePace& pace) const;

 private:
  friend class PartitionStore;
  explicit PartitionImage(PartitionStore* store) : store_(store) {}

  PartitionStore* const store_;
  std::vector<SharedRef<Leaf>> leaves_;       // by ordinal
  std::vector<SharedRef<SavedPages>> saved_;  // by range; null: of a compressed block
  uint64_t live_rows_ = 0;
};

}  // namespace diptych::storage
