// Tables WITH (settled = on) across restarts: what has settled comes back from the file, takes
// writes, is checkpointed, and settles again; where its bytes are damaged, the error says where.

#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dispatcher/database_inspection.h"
#include "storage/block_file.h"
#include "storage/compressed_block.h"
#include "storage/replica_files.h"
#include "storage/settling.h"
#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using storage::encoding::Encoding;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct Sentence {
  int32_t id = 0;
  int64_t reads = 0;
  base::Varchar<60> body;
};
BOOST_DESCRIBE_STRUCT(Sentence, (), (id, reads, body))

struct SettledArguments {
  int32_t id = 0;
};

constexpr const char* kSentenceDdl =
    "CREATE TABLE sentence (id INT NOT NULL, reads BIGINT NOT NULL, body VARCHAR(60) NOT NULL, "
    "PRIMARY KEY (id)) WITH (settled = on)";
constexpr const char* kRewritten = "what nobody has said before";
// Two blocks, and rows in pages.
constexpr int32_t kSentences = 2 * static_cast<int32_t>(storage::kBlockRowsMin) + 50;
constexpr size_t kBody = 2;

class SettledRestart : public DirectoryFixture {
 protected:
  SettledRestart() {
    for (int32_t i = 0; i < kSentences; ++i) {
      bodies_.push_back(fmt::format("sentence number {} says what the others say", i));
    }
  }

  base::Result<void> open(size_t olap_memory_bytes_max = 0) {
    auto opened = Database::open({.path = path(),
                                  .olap_memory_bytes_max = olap_memory_bytes_max,
                                  .block_rows = storage::kBlockRowsMin,
                                  .partitions = 1});
    if (!opened) return opened.error();
    database_ = std::move(*opened);
    if (database_->catalog().find_table("sentence") == nullptr) {
      if (auto created = database_->execute_ddl(kSentenceDdl); !created) return created.error();
    }
    auto by_id = *database_->bind_index<&Sentence::id>("sentence_pkey");
    read_ = *database_->register_procedure<SettledArguments, oltp::Nothing>(
        "read",
        [by_id](Transaction& txn, const SettledArguments& sentence) -> base::Result<oltp::Nothing> {
          auto row = txn.get_for_update<&Sentence::reads>(by_id, sentence.id);
          if (!row) return row.error();
          txn.update(*row, set<&Sentence::reads>(row->values + 1));
          return oltp::Nothing{};
        });
    rewrite_ = *database_->register_procedure<SettledArguments, oltp::Nothing>(
        "rewrite",
        [by_id](Transaction& txn, const SettledArguments& sentence) -> base::Result<oltp::Nothing> {
          auto row = txn.get_for_update<&Sentence::id>(by_id, sentence.id);
          if (!row) return row.error();
          txn.update(*row, set<&Sentence::body>(base::Varchar<60>(kRewritten)));
          return oltp::Nothing{};
        });
    return {};
  }
  void load() {
    std::vector<Sentence> sentences;
    for (int32_t i = 0; i < kSentences; ++i) {
      sentences.push_back({i, 0, base::Varchar<60>(bodies_[static_cast<size_t>(i)])});
    }
    bool given = false;
    auto loaded =
        database_->load(database_->catalog().find_table("sentence")->id, [&]() -> RowBatch {
          if (given) return {};
          given = true;
          return {reinterpret_cast<const std::byte*>(sentences.data()), sentences.size()};
        });
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  }
  void rewrite(int32_t id) {
    ASSERT_TRUE(database_->call(rewrite_, {id}).get().ok());
    bodies_[static_cast<size_t>(id)] = kRewritten;
  }
  // Writes to a row in a page, which gives compaction its turns: enough for columns that were
  // thawed once.
  void settle() {
    constexpr uint32_t kTurns =
        2 * storage::kQuietFactor * 2 * storage::CompressedBlock::kQuietLooks;
    for (uint32_t i = 0; i < kTurns; ++i) {
      ASSERT_TRUE(database_->call(read_, {kSentences - 1}).get().ok());
      ASSERT_TRUE(database_->query("SELECT count(*) FROM sentence").ok());
    }
  }
  void expect_bodies() {
    const auto result = database_->query("SELECT id, body FROM sentence ORDER BY id");
    ASSERT_TRUE(result.ok()) << result.error().to_string();
    ASSERT_EQ(result->rows.size(), bodies_.size());
    for (size_t i = 0; i < bodies_.size(); ++i) {
      ASSERT_EQ(base::to_string(result->rows[i][1]), bodies_[i]);
    }
    expect_equal_replicas(database_.get());
  }
  void close() {
    const auto closed = database_->close();
    ASSERT_TRUE(closed.ok()) << closed.error().to_string();
    database_.reset();
  }
  // Of the bodies: chunks in frames of zstd, thawed ones. All chunks are intact.
  void expect_saved(uint64_t settled, uint64_t thawed) {
    const auto inspected = inspect_database(path(), Verify::kYes, [](double) {});
    ASSERT_TRUE(inspected.ok()) << inspected.error().to_string();
    EXPECT_TRUE(inspected->damaged.empty());
    const ChunkSizes& sizes = inspected->tables.at(0).columns.at(kBody).sizes;
    EXPECT_EQ(sizes.by_encoding[static_cast<size_t>(Encoding::kZstd)].chunks, settled);
    EXPECT_EQ(sizes.by_temperature[static_cast<size_t>(Temperature::kWarm)].chunks, thawed);
  }

  std::string file() const { return path() + "/blocks.dtb"; }
  void flip(uint64_t byte) const {
    std::fstream stream(file(), std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(byte));
    const char flipped = static_cast<char>(stream.get() ^ 0x10);
    stream.seekp(static_cast<std::streamoff>(byte));
    stream.put(flipped);
  }
  // Of the first block, as it was saved.
  storage::SavedChunk saved_body() const {
    const auto manifest = storage::read_manifest(path());
    const auto catalog = catalog_of(path(), *manifest);
    const auto blocks = storage::BlockFile::open(path());
    const auto saved = storage::read_table(manifest->tables[0], *manifest,
                                           catalog->table(base::TableId(0)), blocks->get());
    return saved->partitions[0][0].columns[kBody].chunk;
  }

  std::vector<std::string> bodies_;
  std::unique_ptr<Database> database_;
  ProcedureRef<SettledArguments, oltp::Nothing> read_;
  ProcedureRef<SettledArguments, oltp::Nothing> rewrite_;
};

TEST_F(SettledRestart, ColumnsComeBackFromTheFileTakeWritesAndSettleAgain) {
  ASSERT_TRUE(open().ok());
  load();
  settle();
  expect_bodies();
  close();
  expect_saved(2, 0);

  ASSERT_TRUE(open(1).ok());
  EXPECT_GT(database_->metrics().olap_chunks.loads, 0u);
  expect_bodies();
  rewrite(5);
  expect_bodies();
  EXPECT_EQ(database_->metrics().memory.replica.columns_thawed, 1u);
  const auto checkpoint = database_->checkpoint();
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().to_string();
  rewrite(6);
  static_cast<void>(database_->discard());  // as a crash: the second write is in the log alone
  database_.reset();
  expect_saved(1, 1);

  ASSERT_TRUE(open().ok());
  expect_bodies();
  settle();
  expect_bodies();
  close();
  expect_saved(2, 0);
  ASSERT_TRUE(open().ok());
  expect_bodies();
}

TEST_F(SettledRestart, DamagedBytesAreAnErrorThatNamesFileAndBlock) {
  ASSERT_TRUE(open().ok());
  load();
  settle();
  close();
  const storage::SavedChunk chunk = saved_body();
  ASSERT_EQ(chunk.header.encoding, Encoding::kZstd);
  const auto names_it =
      AllOf(HasSubstr("table \"sentence\", partition 0: column \"body\" of rows 0 to 1023"),
            HasSubstr(file()), HasSubstr(fmt::format("byte {}", chunk.address.offset())));
  for (const uint64_t share : {0, 1, 2, 3, 4}) {
    const uint64_t byte = chunk.address.offset() + share * (chunk.address.bytes - 1) / 4;
    flip(byte);
    const auto refused = open();
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.code(), ErrorCode::kCorrupt);
    EXPECT_THAT(refused.error().message, names_it);
    const auto inspected = inspect_database(path(), Verify::kYes, [](double) {});
    ASSERT_TRUE(inspected.ok()) << inspected.error().to_string();
    ASSERT_EQ(inspected->damaged.size(), 1u);
    EXPECT_EQ(inspected->damaged[0].column, "body");
    EXPECT_EQ(inspected->damaged[0].offset, chunk.address.offset());
    flip(byte);
  }

  ASSERT_TRUE(open(1).ok());
  expect_bodies();
  flip(chunk.address.offset() + chunk.address.bytes / 2);
  const auto query = database_->query("SELECT min(body) FROM sentence");
  ASSERT_FALSE(query.ok());
  EXPECT_EQ(query.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(query.error().message, names_it);
  EXPECT_TRUE(database_->query("SELECT sum(reads) FROM sentence").ok());
  EXPECT_TRUE(database_->call(read_, {3}).get().ok());
}

}  // namespace
}  // namespace diptych::dispatcher
