// Writes what the fuzz targets begin with, made of real bytes: FOLDER/chunk_fuzz/..., and so on.
//
// Usage: fuzz_seeds FOLDER

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dispatcher/command_log/log_format.h"
#include "olap/query.h"
#include "storage/block_file.h"
#include "storage/buffer_manager.h"
#include "storage/encoding/chunk.h"
#include "storage/encoding/encode.h"
#include "storage/replica_files.h"
#include "tests/fuzz/query_tables.h"
#include "tests/fuzz/signing.h"
#include "tests/storage/encoding_columns.h"
#include "tests/storage/saved_replica.h"
#include "tests/temporary_directory.h"

namespace diptych::storage {
namespace {

namespace fs = std::filesystem;

constexpr size_t kSeedBytesMax = 4096;

void write_seed(const fs::path& folder, const std::string& name, std::span<const std::byte> bytes) {
  fs::create_directories(folder);
  std::ofstream out(folder / name, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  DIPTYCH_CHECK(out.good(), "a seed can be written");
}

// Every form of every kind, with nulls and without, the first small ones of each.
void write_chunks(const fs::path& folder) {
  using encoding::ValueKind;
  constexpr size_t kOfAForm = 3;
  for (int kind = 0; kind < encoding::kValueKinds; ++kind) {
    auto columns = encoding::test::adversarial_columns(static_cast<ValueKind>(kind), 1);
    for (const encoding::Encoding form : encoding::test::kAllEncodings) {
      size_t written[2] = {0, 0};
      for (auto& column : columns) {
        const auto bytes = encoding::encode(column.column.run(), form);
        if (!bytes.ok() || bytes->size() > kSeedBytesMax) continue;
        const bool has_nulls = encoding::Chunk::trusted(*bytes).null_rows() != 0;
        if (written[has_nulls]++ >= kOfAForm) continue;
        write_seed(folder,
                   fmt::format("{}-{}-{}-{}", kind, encoding::encoding_name(form), has_nulls,
                               written[has_nulls]),
                   *bytes);
      }
    }
  }
}

// Thawed chunks have room that frozen ones do not have.
void write_thawed(const fs::path& folder) {
  using namespace encoding;
  for (const ValueKind kind : {ValueKind::kInt32, ValueKind::kInt64, ValueKind::kText}) {
    encoding::test::TestColumn column(kind);
    for (int i = 0; i < 100; ++i) {
      kind == ValueKind::kText ? column.add_text(fmt::format("text {}", i)) : column.add(i % 7);
    }
    const auto bytes = encode(column.run());
    const Cell cell = kind == ValueKind::kText ? Cell::of_text("new") : Cell::number(1000);
    for (const NullRoom nulls : {NullRoom::kNone, NullRoom::kMap}) {
      const auto thawed = thaw(Chunk::trusted(*bytes), 5, cell, nulls);
      DIPTYCH_CHECK(thawed.ok(), "a small chunk is thawed");
      write_seed(folder,
                 fmt::format("thawed-{}-{}", static_cast<int>(kind), static_cast<int>(nulls)),
                 *thawed);
    }
  }
}

// Frozen texts beside which so many rows have one of their own, of different lengths.
void write_patched(const fs::path& folder) {
  using namespace encoding;
  encoding::test::TestColumn column(ValueKind::kText);
  for (int i = 0; i < 100; ++i) column.add_text(fmt::format("some text with a number {}", i));
  for (const Encoding form :
       {Encoding::kPackedText, Encoding::kSymbolText, Encoding::kSymbolDictionary}) {
    for (const uint32_t rows : {5U, 12U, 20U}) {
      ChunkBytes bytes = *encode(column.run(), form);
      for (uint32_t i = 0; i < rows; ++i) {
        const std::string text(i * 7 % 31, static_cast<char>('a' + i));
        const uint32_t row = i * 37 % 100;
        if (Chunk::patch(bytes, row, Cell::of_text(text)) != Patch::kNeedsThaw) continue;
        bytes = *thaw(Chunk::trusted(bytes), row, Cell::of_text(text), NullRoom::kNone);
      }
      DIPTYCH_CHECK(Chunk::trusted(bytes).encoding() == Encoding::kPatchedText, "there is room");
      write_seed(folder, fmt::format("patched-{}-{}", encoding_name(form), rows), bytes);
    }
  }
}

// A thawed dictionary of texts, with one more than it had.
void write_spaced(const fs::path& folder) {
  using namespace encoding;
  encoding::test::TestColumn column(ValueKind::kText);
  for (int i = 0; i < 100; ++i) column.add_text(fmt::format("text {}", i % 5));
  const auto bytes = encode(column.run(), Encoding::kDictionary);
  DIPTYCH_CHECK(bytes.ok(), "five texts are a dictionary");
  const auto thawed = thaw(Chunk::trusted(*bytes), 7, Cell::of_text("text"), NullRoom::kMap);
  DIPTYCH_CHECK(thawed.ok(), "a small chunk is thawed");
  write_seed(folder, "spaced", *thawed);
}

// Of saved replicas: of pages alone, and with blocks of two partitions.
void write_replicas(const fs::path& folder) {
  for (const auto& [rows, partitions] : {std::pair{0U, 1U}, {40U, 1U}, {3000U, 2U}}) {
    diptych::test::TemporaryDirectory directory;
    test::SavedReplica replica(directory.path(), partitions);
    replica.fill(1, rows, base::Vid(rows));
    const auto manifest = replica.save();
    DIPTYCH_CHECK(manifest.ok(), "a small replica is saved");
    const std::string name = fmt::format("{}-rows", rows);
    const auto text = *manifest_to_text(*manifest);
    write_seed(folder / "manifest_fuzz", name, std::as_bytes(std::span(text)));
    if (rows == 0) continue;  // such a table has no directory
    // The targets read it as the table of every type: the name is in the fingerprint.
    base::TableSchema schema = replica.replica().table(base::TableId(0)).schema();
    const auto bytes = replica.replica().buffers()->file().read(manifest->tables[0].directory);
    DIPTYCH_CHECK(bytes.ok(), "it is read");
    const auto saved = read_directory(schema, bytes->bytes());
    DIPTYCH_CHECK(saved.ok(), "it is a directory");
    schema.name = test::every_type_schema().name;
    write_seed(folder / "directory_fuzz", name, write_directory(schema, *saved));
  }
}

// Of a block file: its header, as it is, cut short, of other formats, and with a chunk behind it.
void write_block_files(const fs::path& folder) {
  const diptych::test::TemporaryDirectory directory;
  {
    const auto file = BlockFile::create(directory.path());
    DIPTYCH_CHECK(file.ok(), "a file can be made");
    const std::string_view chunk = "a chunk";
    DIPTYCH_CHECK((*file)->write(std::as_bytes(std::span(chunk))).ok(), "and written");
  }
  const std::string file = diptych::test::read_bytes(directory.path() + "/blocks.dtb");
  const auto write = [&](const std::string& name, std::string_view bytes) {
    write_seed(folder, name, std::as_bytes(std::span(bytes)));
  };
  const std::string header = file.substr(0, kFilePageBytes);
  write("header", header);
  write("cut", std::string_view(header).substr(0, kFilePageBytes - 1));
  write("chunk", std::string_view(file).substr(0, kFilePageBytes + 7));
  for (const size_t at : {0, 8, 12, 16, 20}) {  // the magic, the version, the sizes, and zeroes
    std::string other = header;
    other[at] = static_cast<char>(other[at] + 1);
    write(fmt::format("other-{}", at), other);
  }
}

// The statements of the benchmarks' queries, of the differential tests and of the test scripts.
void write_sql(const fs::path& folder) {
  const fs::path source = DIPTYCH_SOURCE_DIR;
  size_t count = 0;
  for (const char* const from :
       {"workloads", "tests/sql", "tests/workloads", "tests/olap/answers"}) {
    for (const auto& entry : fs::recursive_directory_iterator(source / from)) {
      const std::string extension = entry.path().extension();
      const bool records = extension == ".slt" || extension == ".test";
      if (extension != ".sql" && !records) continue;
      std::ifstream in(entry.path());
      std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
      const auto bytes = std::as_bytes(std::span(text).first(std::min(text.size(), kSeedBytesMax)));
      write_seed(folder / "sql_split_fuzz", fmt::format("{}", count), bytes);
      std::vector<std::string_view> statements;
      if (records) {
        statements = olap::fuzz::statements_of_records(text);
      } else if (auto split = olap::split_statements(text); split.ok()) {
        statements = *std::move(split);
      }
      for (const std::string_view statement : statements) {
        const bool ddl = statement.starts_with("CREATE");
        write_seed(folder / (ddl ? "sql_ddl_fuzz" : "sql_prepare_fuzz"), fmt::format("{}", count++),
                   std::as_bytes(std::span(statement)));
      }
    }
  }
  DIPTYCH_CHECK(count > 0, "the sources are there");
  // Of the views that the target knows.
  constexpr std::string_view kViews[] = {
      "create or replace view v (a, b) as select id, note::varchar(20) from c where day > "
      "'2020-01-01'",
      "create or replace view v as select id as a, name as b, kind from p",
      "create or replace view w as select a, total from w",
      "create view x (k, n) as with recursive r as (select 1 as i union all select i + 1 from r "
      "where "
      "i < 3) select i, count(*) from r, w group by i order by 2 limit 3",
      "create view y as select * from v natural join w, lateral (select a as z) q",
      "drop view w, v",
      "drop view if exists v, nothing",
      "drop table c",
  };
  for (const std::string_view statement : kViews) {
    write_seed(folder / "sql_ddl_fuzz", fmt::format("{}", count++),
               std::as_bytes(std::span(statement)));
  }
}

void write_executed_sql(const fs::path& folder) {
  std::vector<std::string> statements = olap::fuzz::answered_statements();
  statements.insert(statements.end(), std::begin(olap::fuzz::kManyStatements),
                    std::end(olap::fuzz::kManyStatements));
  for (size_t i = 0; i < statements.size(); ++i) {
    write_seed(folder, fmt::format("{}", i), std::as_bytes(std::span(statements[i])));
  }
}

// CSV files of the table of every type, each whole and in pieces.
void write_csv(const fs::path& folder) {
  constexpr std::string_view kFiles[] = {
      "int,bigint,decimal,double\n1,2,3.25,4e-3\n-2147483648,-9223372036854775808,-0.01,nan\n",
      "\xef\xbb\xbfINT,\"text\",varchar\r\n1,\"a \"\"b\"\", c\r\n\r\n2,\"two\nlines\",\"\"\r\n3,,",
      "int,boolean,date,timestamp,char\n1,true,2024-02-29,2024-02-29 12:00:00.5,x\n2,f,,,\n",
      "int,int_null,text_null\n1,2147483648,\n2,\"x\" y,\n3,a\"b,c\n4\n5,1,\"never closed\n",
      "int,date\n1,2024-02-30\n2,20240131\n3,0001-01-01\r4,2024-01-01\n5,\xff\n",
  };
  std::vector<std::string> files(std::begin(kFiles), std::end(kFiles));
  // More faults than are shown.
  files.emplace_back("int,date,decimal\n");
  constexpr std::string_view kFaults[] = {"x,,", "1,2024-02-30,", "1,,1.234", "1,2", "1,\"\"x,"};
  for (size_t i = 0; i < 8 * std::size(kFaults); ++i) {
    files.back().append(kFaults[i % std::size(kFaults)]).append(i % 7 == 0 ? "\n1,,\n" : "\n");
  }
  for (size_t i = 0; i < files.size(); ++i) {
    for (const char piece : {'\0', '\1', '\7'}) {
      const std::string bytes = piece + files[i];
      write_seed(folder, fmt::format("{}-{}", i, static_cast<int>(piece)),
                 std::as_bytes(std::span(bytes)));
    }
  }
}

// The test scripts, and one with what they have not.
void write_scripts(const fs::path& folder) {
  constexpr std::string_view kScript =
      "loop i 0 3\n\nforeach a x y${i}\n\nstatement ok\nINSERT INTO t VALUES (${i}, '${a}')\n\n"
      "endloop\n\nendloop\n\nskipif diptych\nquery I\nSELECT 1\n\nstatement error\nSELECT 1 / 0\n"
      "----\n<REGEX>:(?i)division\n\nstatement count 2\nINSERT INTO t SELECT 1\n\nload t t.csv\n"
      "query TI rowsort label\nSELECT a, b FROM t\n----\nx\t1\ny\t2\n\nmode skip\nany\nmode "
      "unskip\n"
      "query R\nSELECT 1\n----\n9 values hashing to 3b\n\nrequire x\nhalt\n";
  write_seed(folder, "records", std::as_bytes(std::span(kScript)));
  for (const auto& entry : fs::directory_iterator(DIPTYCH_SOURCE_DIR "/tests/sql")) {
    if (entry.path().extension() != ".slt") continue;
    const std::string text = olap::fuzz::text_of_file(entry.path()).substr(0, kSeedBytesMax);
    write_seed(folder, entry.path().stem(), std::as_bytes(std::span(text)));
  }
}

}  // namespace
}  // namespace diptych::storage

namespace diptych::dispatcher {
namespace {

struct SeedArguments {
  base::Text text;
  uint64_t number = 0;
};

// A frame of a batch whose calls have texts, nulls and rows, or none of them.
std::vector<std::byte> frame_bytes(uint64_t number, uint64_t sequence, uint64_t start) {
  FrameWriter frame;
  frame.begin_batch(base::Vid(start));
  for (uint64_t vid = start + 1; vid <= start + 3; ++vid) {
    const SeedArguments arguments{base::Text("some text"), vid};
    const oltp::TextCell cell{0, std::nullopt};
    const std::vector<base::RowId> rows(vid % 3, base::RowId(vid * 100));
    frame.add(vid % 2 == 0 ? 1 : 2, {static_cast<int64_t>(vid)}, vid, base::Vid(vid - 1),
              base::Vid(vid), std::as_bytes(std::span(&arguments, 1)),
              {&cell, vid % 2 == 0 ? 1U : 0U}, rows);
  }
  frame.define({.id = 1, .name = "with_text", .argument_bytes = sizeof(SeedArguments), .texts = 1});
  frame.define({.id = 2, .name = "plain", .argument_bytes = sizeof(SeedArguments)});
  const auto sealed = frame.seal(number, sequence);
  return {sealed.begin(), sealed.end()};
}

// The same of a physical log.
std::vector<std::byte> updates_frame_bytes(uint64_t number, uint64_t sequence, uint64_t start) {
  propagation::UpdateChunks chunks;
  propagation::UpdateSet updates(&chunks);
  for (uint64_t vid = start + 1; vid <= start + 3; ++vid) {
    updates.append_delete(base::Vid(vid), base::RowId(vid * 100));
  }
  const auto& chunk = updates.chunks().front();
  const propagation::RecordRun run{base::TableId(1), {chunk.data, chunk.used}};
  FrameWriter frame;
  frame.begin_batch(base::Vid(start));
  frame.add_updates(3, {&run, 1});
  const auto sealed = frame.seal(number, sequence);
  return {sealed.begin(), sealed.end()};
}

void append(std::vector<std::byte>* bytes, std::span<const std::byte> more) {
  bytes->insert(bytes->end(), more.begin(), more.end());
}

// What is whole is signed as it is.
void check_signing(const std::vector<std::byte>& file) {
  const std::string whole(reinterpret_cast<const char*>(file.data()), file.size());
  std::string again = whole;
  fuzz::sign_log_file(&again);
  DIPTYCH_CHECK(again == whole, "a file is signed as its writer does it");
}

// A frame alone, one file, and two that follow each other.
void write_logs(const std::filesystem::path& folder) {
  storage::write_seed(folder / "log_fuzz", "frame", frame_bytes(1, 1, 0));
  storage::write_seed(folder / "log_fuzz", "updates", updates_frame_bytes(1, 1, 0));
  std::vector<std::byte> files;
  uint64_t start = 0;
  for (uint64_t number = 1; number <= 2; ++number) {
    LogFileHeader header{.number = number,
                         .start = base::Vid(start),
                         .first_sequence = 2 * number,
                         .database_id = 0x1234};
    std::vector<std::byte> file = header_bytes(header);
    for (uint64_t i = 0; i < 2; ++i, start += 3) {
      append(&file, i == 0 ? frame_bytes(number, 2 * number + i, start)
                           : updates_frame_bytes(number, 2 * number + i, start));
    }
    file.resize(file.size() + kLogSectorBytes);
    header.file_bytes = file.size();
    const auto whole_header = header_bytes(header);
    std::copy(whole_header.begin(), whole_header.end(), file.begin());
    check_signing(file);
    const auto size = static_cast<uint32_t>(file.size());
    append(&files, std::as_bytes(std::span(&size, 1)));
    append(&files, file);
    storage::write_seed(folder / "log_fuzz", "files_" + std::to_string(number), files);
  }
  // Read after a checkpoint: in the first file, in the second, and behind the end.
  for (const uint64_t after : {3, 6, 9, 20}) {
    std::vector<std::byte> with_vid = files;
    append(&with_vid, std::vector<std::byte>(4));  // a third file, which is empty
    append(&with_vid, std::as_bytes(std::span(&after, 1)));
    storage::write_seed(folder / "log_fuzz", fmt::format("files_after_{}", after), with_vid);
  }
}

// Changes, one each, of what open_fuzz and replay_fuzz change: they have the same form. Each kind
// in each mode, at other places: more would take the whole of a short run, at ten a second.
void write_changes(const std::filesystem::path& folder) {
  constexpr uint8_t kKinds = 11;
  for (const auto& [target, modes] : {std::pair{"open_fuzz", 16}, {"replay_fuzz", 4}}) {
    for (int mode = 0; mode < modes; ++mode) {
      const std::array<uint8_t, 1> none = {static_cast<uint8_t>(mode)};
      storage::write_seed(folder / target, fmt::format("{}", mode), std::as_bytes(std::span(none)));
      for (uint8_t kind = 0; kind < kKinds; ++kind) {
        const auto place = static_cast<uint8_t>(mode * kKinds + kind);
        const std::array<uint8_t, 9> one = {none[0], place, kind, 40, 0, 1, 2, 0, 0};
        storage::write_seed(folder / target, fmt::format("{}-{}", mode, kind),
                            std::as_bytes(std::span(one)));
      }
    }
  }
  // A row of each id that replay_fuzz has for odd: one far behind all others once had a list of all
  // slots before it made.
  for (uint8_t id = 0; id < 10; ++id) {
    const std::array<uint8_t, 9> one = {1, 21, 0, 40, 0, id, 0, 0, 0};
    storage::write_seed(folder / "replay_fuzz", fmt::format("row-{}", id),
                        std::as_bytes(std::span(one)));
  }
}

// The mark of a backup.
void write_marks(const std::filesystem::path& folder) {
  const std::string text =
      fuzz::with_right_checksum(R"({"first_vid": 3, "format": 1, "last_vid": 9})");
  storage::write_seed(folder / "backup_fuzz", "mark", std::as_bytes(std::span(text)));
}

}  // namespace
}  // namespace diptych::dispatcher

int main(int argument_count, char** arguments) {
  if (argument_count != 2) {
    std::fputs("usage: fuzz_seeds FOLDER\n", stderr);
    return 2;
  }
  const std::filesystem::path folder = arguments[1];
  diptych::storage::write_chunks(folder / "chunk_fuzz");
  diptych::storage::write_thawed(folder / "chunk_fuzz");
  diptych::storage::write_patched(folder / "chunk_fuzz");
  diptych::storage::write_spaced(folder / "chunk_fuzz");
  diptych::storage::write_replicas(folder);
  diptych::storage::write_block_files(folder / "block_file_fuzz");
  diptych::storage::write_sql(folder);
  diptych::storage::write_executed_sql(folder / "sql_execute_fuzz");
  diptych::storage::write_csv(folder / "csv_fuzz");
  diptych::storage::write_scripts(folder / "slt_fuzz");
  diptych::dispatcher::write_logs(folder);
  diptych::dispatcher::write_marks(folder);
  diptych::dispatcher::write_changes(folder);
  return 0;
}
