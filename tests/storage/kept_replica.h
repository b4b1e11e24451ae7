// A replica of one table with one partition, in a block file (LongFile's, if there is one), with a
// budget of memory; and the same read back from its directory.

#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "storage/block_file.h"
#include "storage/buffer_manager.h"
#include "storage/replica_files.h"
#include "storage/table.h"

namespace diptych::storage::test {

class KeptReplica {
 public:
  KeptReplica(std::string directory, const base::TableSchema& schema, size_t memory_bytes_max)
      : directory_(std::move(directory)), schema_(schema), memory_bytes_max_(memory_bytes_max) {
    make(std::filesystem::exists(file()) ? BlockFile::open(directory_)
                                         : BlockFile::create(directory_));
  }

  Partition& partition() {
    return replica_->table(base::TableId(0)).partition(base::PartitionId(0));
  }
  BufferManager& buffers() { return *replica_->buffers(); }
  Replica& replica() { return *replica_; }
  const std::string& directory() const { return directory_; }
  std::string file() const { return directory_ + "/blocks.dtb"; }

  base::Result<void> save() {
    const auto saved = save_replica(directory_, replica_.get(), {});
    if (!saved.ok()) return saved.error();
    return {};
  }
  // As the last save() left it.
  base::Result<void> reopen() {
    replica_.reset();
    make(BlockFile::open(directory_));
    const auto loaded = load_replica(directory_, *read_manifest(directory_), replica_.get());
    partition().finish_restore();
    return loaded;
  }

 private:
  void make(base::Result<std::unique_ptr<BlockFile>> file) {
    ASSERT_TRUE(file.ok()) << file.error().to_string();
    replica_ = std::make_unique<Replica>(StorageOptions{.block_rows = kBlockRowsMin});
    replica_->keep_in(std::move(*file), memory_bytes_max_);
    replica_->add_table(schema_);
  }

  std::string directory_;
  base::TableSchema schema_;
  size_t memory_bytes_max_;
  std::unique_ptr<Replica> replica_;
};

}  // namespace diptych::storage::test
