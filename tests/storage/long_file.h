// A block file whose first two extents are somebody's, and come free later; so chunks lie behind.

#pragma once

#include <filesystem>
#include <string>

#include "base/check.h"
#include "storage/block_file.h"

namespace diptych::storage::test {

class LongFile {
 public:
  // To be opened, before anything is written to it.
  static void create(const std::string& directory) {
    const auto file = BlockFile::create(directory);
    DIPTYCH_CHECK(file.ok(), "the block file can be made");
    std::filesystem::resize_file((*file)->path(), 3 * kExtentBytes);
  }

  explicit LongFile(BlockFile* file) : file_(file) {
    for (const ChunkAddress& extent : {first_, second_}) {
      DIPTYCH_CHECK(file->adopt(extent).ok(), "nobody has the space yet");
    }
  }

  void come_free() {
    file_->release(first_);
    file_->release(second_);
  }
  void come_free_by_half() { file_->release(second_); }

 private:
  BlockFile* const file_;
  const ChunkAddress first_{.page = 1, .bytes = kExtentBytes - kFilePageBytes};
  const ChunkAddress second_{.page = kExtentPages, .bytes = kExtentBytes};
};

}  // namespace diptych::storage::test
