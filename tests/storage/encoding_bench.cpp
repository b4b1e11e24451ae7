// What the encodings cost and save on columns like TPC-C's: encoding (with the choice), decoding,
// predicates, single rows, and sizes beside zstd's of the same bytes.
//
// Sizes of the data: numbers as they lie in memory (4 or 8 bytes); texts as a length of 4 bytes and
// their bytes. That is what bytes_per_second counts, and what zstd compresses in one frame a chunk.
//
// The counters of BM_Encode: `ratio`, bytes of the chunk by bytes of the data; `zstd1` and `zstd3`,
// the same of zstd. The label is the form that was chosen.

#include <algorithm>
#include <optional>

#include <benchmark/benchmark.h>
#include <zstd.h>

#include "base/check.h"
#include "storage/encoding/encode.h"
#include "tests/storage/chunk_reads.h"
#include "tests/storage/encoding_columns.h"

namespace diptych::storage::encoding {
namespace {

using test::Random;
using test::TestColumn;

constexpr uint32_t kRows = 1U << 16;
constexpr uint32_t kDecodedRows = 2048;

struct Source {
  const char* name;
  ValueKind kind;
  void (*add_row)(TestColumn*, Random*, uint32_t row);
};

std::string alphanumeric(Random* random, uint32_t low, uint32_t high) {
  return test::random_text(random, low + (*random)() % (high - low + 1), test::kAlphanumerics);
}

const Source kSources[] = {
    {"constant", ValueKind::kInt32, [](TestColumn* column, Random*, uint32_t) { column->add(7); }},
    {"constant text", ValueKind::kText,
     [](TestColumn* column, Random*, uint32_t) { column->add_text("the same text"); }},
    {"ascending id", ValueKind::kInt32,
     [](TestColumn* column, Random*, uint32_t row) { column->add(row + 1); }},
    {"quantity 1-10", ValueKind::kInt32,
     [](TestColumn* column, Random* random, uint32_t) {
       column->add(1 + static_cast<int64_t>((*random)() % 10));
     }},
    {"item id", ValueKind::kInt32,
     [](TestColumn* column, Random* random, uint32_t) {
       column->add(1 + static_cast<int64_t>((*random)() % 100'000));
     }},
    {"byte frame", ValueKind::kInt32,
     [](TestColumn* column, Random* random, uint32_t) {
       column->add(1000 + static_cast<int64_t>((*random)() % 256));
     }},
    {"short frame", ValueKind::kInt32,
     [](TestColumn* column, Random* random, uint32_t) {
       column->add(1000 + static_cast<int64_t>((*random)() % 65'536));
     }},
    {"any int", ValueKind::kInt32,
     [](TestColumn* column, Random* random, uint32_t) {
       column->add(static_cast<int32_t>((*random)()));
     }},
    {"amount", ValueKind::kInt64,
     [](TestColumn* column, Random* random, uint32_t) {
       column->add(1 + static_cast<int64_t>((*random)() % 999'999));
     }},
    {"few prices", ValueKind::kInt64,
     [](TestColumn* column, Random* random, uint32_t) {
       column->add(static_cast<int64_t>((*random)() % 300) * 1'000'003);
     }},
    {"timestamp", ValueKind::kInt64,
     [](TestColumn* column, Random* random, uint32_t row) {
       column->add(1'790'000'000'000'000 + row * int64_t{900} +
                   static_cast<int64_t>((*random)() % 1000));
     }},
    {"carrier, nulls", ValueKind::kInt32,
     [](TestColumn* column, Random* random, uint32_t row) {
       if (row % 3000 >= 2100) return column->add_null();
       column->add(1 + static_cast<int64_t>((*random)() % 10));
     }},
    {"double", ValueKind::kDouble,
     [](TestColumn* column, Random* random, uint32_t) {
       column->add_double(static_cast<double>((*random)() % 100'000) / 100);
     }},
    {"text 24", ValueKind::kText,
     [](TestColumn* column, Random* random, uint32_t) {
       column->add_text(alphanumeric(random, 24, 24));
     }},
    {"text 26-50", ValueKind::kText,
     [](TestColumn* column, Random* random, uint32_t) {
       column->add_text(alphanumeric(random, 26, 50));
     }},
    {"text 300-500", ValueKind::kText,
     [](TestColumn* column, Random* random, uint32_t) {
       column->add_text(alphanumeric(random, 300, 500));
     }},
    {"text 26-50, nulls", ValueKind::kText,
     [](TestColumn* column, Random* random, uint32_t) {
       if ((*random)() % 3 == 0) return column->add_null();
       column->add_text(alphanumeric(random, 26, 50));
     }},
    {"s_data", ValueKind::kText,
     [](TestColumn* column, Random* random, uint32_t) {
       std::string text = alphanumeric(random, 26, 50);
       if ((*random)() % 10 == 0) text.replace((*random)() % (text.size() - 7), 8, "ORIGINAL");
       column->add_text(text);
     }},
    {"zip code", ValueKind::kText,
     [](TestColumn* column, Random* random, uint32_t) {
       column->add_text(test::random_text(random, 4, "0123456789") + "11111");
     }},
    {"phone", ValueKind::kText,
     [](TestColumn* column, Random* random, uint32_t) {
       column->add_text(test::random_text(random, 16, "0123456789"));
     }},
    {"last name", ValueKind::kText,
     [](TestColumn* column, Random* random, uint32_t) {
       column->add_text(test::last_name((*random)() % 1000));
     }},
    {"syllables", ValueKind::kText,
     [](TestColumn* column, Random* random, uint32_t) {
       column->add_text(test::last_name((*random)()) + " " + test::last_name((*random)()));
     }},
    {"credit GC, BC", ValueKind::kText,
     [](TestColumn* column, Random* random, uint32_t) {
       column->add_text((*random)() % 10 == 0 ? "BC" : "GC");
     }},
};

TestColumn column_of(const Source& source) {
  TestColumn column(source.kind);
  Random random(42);
  for (uint32_t row = 0; row < kRows; ++row) source.add_row(&column, &random, row);
  return column;
}

std::vector<char> plain_bytes(const ColumnRun& run) {
  std::vector<char> bytes;
  if (run.kind != ValueKind::kText) {
    const auto* const from = static_cast<const char*>(run.values);
    bytes.assign(from, from + run.rows * value_bytes(run.kind));
    return bytes;
  }
  const auto* const texts = run.as<base::StringRef>();
  for (uint32_t i = 0; i < run.rows; ++i) {
    const uint32_t size = run.is_null(i) ? 0 : texts[i].size();
    const auto* const from = reinterpret_cast<const char*>(&size);
    bytes.insert(bytes.end(), from, from + sizeof size);
  }
  for (uint32_t i = 0; i < run.rows; ++i) {
    if (run.is_null(i)) continue;
    bytes.insert(bytes.end(), texts[i].data(), texts[i].data() + texts[i].size());
  }
  return bytes;
}

double zstd_ratio(const std::vector<char>& bytes, int level) {
  std::vector<char> out(ZSTD_compressBound(bytes.size()));
  const size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), level);
  DIPTYCH_CHECK(ZSTD_isError(size) == 0, "the bound is enough");
  return static_cast<double>(size) / static_cast<double>(bytes.size());
}

// Forms that come from thaw() alone: the chosen form of the column, of which one row in so many was
// written since, with the next row's text. Half of what patched text takes before it is plain.
constexpr uint32_t kRowsAPatch = 16;
ChunkBytes thawed_as(const ColumnRun& run, Encoding form) {
  ChunkBytes bytes = *encode(run);
  const auto* const texts = run.as<base::StringRef>();
  for (uint32_t row = 0; row < run.rows; row += kRowsAPatch) {
    const Cell cell = Cell::of_text(texts[row + 1].view());
    if (row != 0 && Chunk::patch(bytes, row, cell) == Patch::kDone) continue;
    bytes = *thaw(Chunk::trusted(bytes), row, cell, NullRoom::kNone);
  }
  DIPTYCH_CHECK(Chunk::trusted(bytes).encoding() == form, "the column thaws to this form");
  return bytes;
}

base::Result<ChunkBytes> encode_as(const ColumnRun& run, std::optional<Encoding> forced) {
  if (!forced) return encode(run);
  const bool is_thawed =
      *forced == Encoding::kSpacedDictionary || *forced == Encoding::kPatchedText;
  return is_thawed ? thawed_as(run, *forced) : encode(run, *forced);
}

void encode_column(benchmark::State& state, const Source& source, std::optional<Encoding> forced) {
  TestColumn column = column_of(source);
  const ColumnRun run = column.run();
  const std::vector<char> plain = plain_bytes(run);
  ChunkBytes bytes;
  for (auto _ : state) {
    bytes = *encode_as(run, forced);
    benchmark::DoNotOptimize(bytes.data());
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * plain.size()));
  state.counters["ratio"] = static_cast<double>(bytes.size()) / static_cast<double>(plain.size());
  state.counters["zstd1"] = zstd_ratio(plain, 1);
  state.counters["zstd3"] = zstd_ratio(plain, 3);
  state.SetLabel(std::string(encoding_name(Chunk::trusted(bytes).encoding())));
}

void decode_column(benchmark::State& state, const Source& source, std::optional<Encoding> forced) {
  TestColumn column = column_of(source);
  const ColumnRun run = column.run();
  const ChunkBytes bytes = *encode_as(run, forced);
  const Chunk chunk = Chunk::trusted(bytes);
  RunBuffer buffer;
  for (auto _ : state) {
    for (uint32_t first = 0; first < kRows; first += kDecodedRows) {
      benchmark::DoNotOptimize(chunk.decode(first, kDecodedRows, &buffer).values);
    }
  }
  const size_t plain = plain_bytes(run).size();
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * plain));
  state.SetLabel(std::string(encoding_name(chunk.encoding())));
}

// A predicate that the SMA does not answer and that one row in some passes.
Predicate predicate_for(const TestColumn& column) {
  std::vector<Cell> cells;
  for (uint32_t row = 0; row < column.rows(); row += 101) {
    if (!column.cell(row).is_null) cells.push_back(column.cell(row));
  }
  const bool is_text = column.kind() == ValueKind::kText;
  std::sort(cells.begin(), cells.end(), [&](const Cell& a, const Cell& b) {
    return is_text ? a.text < b.text : a.key < b.key;
  });
  const Cell& low = cells[cells.size() / 4];
  const Cell& high = cells[cells.size() / 2];
  if (is_text) return Predicate::between(low.text, high.text);
  if (column.kind() == ValueKind::kDouble) {
    return Predicate::between(key_double(low.key), key_double(high.key));
  }
  return Predicate::between(low.key, high.key);
}

void select_rows(benchmark::State& state, const Source& source, const Predicate* predicate,
                 std::optional<Encoding> forced) {
  TestColumn column = column_of(source);
  const ColumnRun run = column.run();
  const ChunkBytes bytes = *encode_as(run, forced);
  const Chunk chunk = Chunk::trusted(bytes);
  const Predicate between = predicate_for(column);
  std::vector<uint64_t> words(bitmap_words(kRows));
  for (auto _ : state) {
    test::select(chunk, predicate != nullptr ? *predicate : between, words.data());
    benchmark::DoNotOptimize(words.data());
  }
  const size_t plain = plain_bytes(run).size();
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * plain));
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kRows));
  state.SetLabel(std::string(encoding_name(chunk.encoding())));
}

// BETWEEN, which so many of 1,000 rows pass, in vectors of 1,024: on codes, or of decoded values.
enum class Way : uint8_t { kCodes, kDecoded };
void narrow_rows(benchmark::State& state, const Source& source, Way way,
                 std::optional<Encoding> forced) {
  TestColumn column = column_of(source);
  const ChunkBytes bytes = *encode_as(column.run(), forced);
  const Chunk chunk = Chunk::trusted(bytes);
  std::vector<Cell> cells;
  for (const Cell& cell : column.cells()) {
    if (!cell.is_null) cells.push_back(cell);
  }
  const bool is_text = column.kind() == ValueKind::kText;
  std::sort(cells.begin(), cells.end(), [&](const Cell& a, const Cell& b) {
    return is_text ? a.text < b.text : a.key < b.key;
  });
  const auto passing = static_cast<size_t>(state.range(0)) * cells.size() / 1000;
  const Cell& low = cells[(cells.size() - passing) / 2];
  const Cell& high = cells[(cells.size() + passing) / 2 - 1];
  const Predicate predicate = is_text ? Predicate::between(low.text, high.text)
                              : column.kind() == ValueKind::kDouble
                                  ? Predicate::between(key_double(low.key), key_double(high.key))
                                  : Predicate::between(low.key, high.key);
  uint64_t words[kVectorRows / 64];
  RunBuffer buffer;
  uint64_t passed = 0;
  for (auto _ : state) {
    const auto on_codes = chunk.filter(predicate);
    if (way == Way::kCodes && !on_codes) return state.SkipWithError("only decoded");
    for (uint32_t first = 0; first < kRows; first += kVectorRows) {
      std::fill(std::begin(words), std::end(words), ~uint64_t{0});
      if (way == Way::kCodes) {
        on_codes->narrow(first, kVectorRows, words);
      } else {
        const ColumnRun run = chunk.decode(first, kVectorRows, &buffer);
        ChunkFilter::of_values(run, predicate)->narrow(0, kVectorRows, words);
      }
      for (const uint64_t word : words) passed += static_cast<uint64_t>(std::popcount(word));
    }
  }
  const auto rows = static_cast<double>(state.iterations() * kRows);
  state.SetItemsProcessed(static_cast<int64_t>(rows));
  state.counters["passing"] = static_cast<double>(passed) / rows;
  state.SetLabel(std::string(encoding_name(chunk.encoding())));
}

// One row in so many of each vector of 1,024; 0: all, by decode().
void decode_some_rows(benchmark::State& state, const Source& source) {
  TestColumn column = column_of(source);
  const ChunkBytes bytes = *encode(column.run());
  const Chunk chunk = Chunk::trusted(bytes);
  std::vector<uint16_t> slots;
  const auto step = static_cast<uint32_t>(state.range(0));
  for (uint32_t i = step / 2; step != 0 && i < kVectorRows; i += step) {
    slots.push_back(static_cast<uint16_t>(i));
  }
  RunBuffer buffer;
  for (auto _ : state) {
    for (uint32_t first = 0; first < kRows; first += kVectorRows) {
      const ColumnRun run = step == 0 ? chunk.decode(first, kVectorRows, &buffer)
                                      : chunk.decode_some(first, kVectorRows, slots, &buffer);
      benchmark::DoNotOptimize(run.values);
    }
  }
  state.counters["vector_ns"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * (kRows / kVectorRows) / 1e9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.SetLabel(std::string(encoding_name(chunk.encoding())));
}

void read_row(benchmark::State& state, const Source& source, std::optional<Encoding> forced) {
  TestColumn column = column_of(source);
  const ChunkBytes bytes = *encode_as(column.run(), forced);
  const Chunk chunk = Chunk::trusted(bytes);
  std::string scratch;
  uint64_t random = 1;
  for (auto _ : state) {
    random = random * 6364136223846793005 + 1442695040888963407;
    benchmark::DoNotOptimize(test::cell_at(chunk, static_cast<uint32_t>(random >> 48), &scratch));
  }
  state.SetLabel(std::string(encoding_name(chunk.encoding())));
}

// Values that the form has room for, into random rows: those of other rows. Patched text has it
// where a text as long was written before.
void patch_rows(benchmark::State& state, const Source& source, std::optional<Encoding> forced) {
  TestColumn column = column_of(source);
  ChunkBytes bytes = *encode_as(column.run(), forced);
  uint64_t random = 1;
  for (auto _ : state) {
    random = random * 6364136223846793005 + 1442695040888963407;
    auto row = static_cast<uint32_t>(random >> 48);
    if (forced == Encoding::kPatchedText) row -= row % kRowsAPatch;
    const Patch patch = Chunk::patch(bytes, row, column.cell(row ^ 1));
    DIPTYCH_CHECK(patch == Patch::kDone, "the chunk has a value as large and as long");
  }
  state.SetLabel(std::string(encoding_name(Chunk::trusted(bytes).encoding())));
}

const Source& source_named(std::string_view name) {
  return *std::find_if(std::begin(kSources), std::end(kSources),
                       [&](const Source& source) { return source.name == name; });
}

// Frozen 4-byte columns of 256 MB decoded, from memory, summed vector by vector; beside reading as
// many bytes of plain memory. bytes_per_second counts decoded bytes.
void sum_from_memory(benchmark::State& state, const Source* source) {
  constexpr uint32_t kChunks = 1024;
  std::vector<ChunkBytes> chunks;
  if (source != nullptr) {
    TestColumn column = column_of(*source);
    const ChunkBytes one = *encode(column.run());
    chunks.assign(kChunks, one);
    state.SetLabel(std::string(encoding_name(Chunk::trusted(one).encoding())));
  } else {
    TestColumn column = column_of(source_named("any int"));
    chunks.assign(kChunks, *encode(column.run(), Encoding::kPlain));
    state.SetLabel("plain");
  }
  RunBuffer buffer;
  for (auto _ : state) {
    uint32_t sum = 0;
    for (const ChunkBytes& bytes : chunks) {
      const Chunk chunk = Chunk::trusted(bytes);
      for (uint32_t first = 0; first < kRows; first += kDecodedRows) {
        const auto* const values = chunk.decode(first, kDecodedRows, &buffer).as<uint32_t>();
        for (uint32_t i = 0; i < kDecodedRows; ++i) sum += values[i];
      }
    }
    benchmark::DoNotOptimize(sum);
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * kChunks * kRows * 4);
}

void register_narrow(const std::string& name, const Source& source,
                     std::optional<Encoding> forced) {
  for (const Way way : {Way::kCodes, Way::kDecoded}) {
    const std::string on = way == Way::kCodes ? "/codes" : "/decoded";
    benchmark::RegisterBenchmark(("BM_Narrow/" + name + on).c_str(),
                                 [&source, way, forced](benchmark::State& state) {
                                   narrow_rows(state, source, way, forced);
                                 })
        ->Arg(1)
        ->Arg(100)
        ->Arg(900);
  }
}

void register_vectors() {
  using benchmark::RegisterBenchmark;
  for (const Source& source : kSources) {
    const std::string name = source.name;
    register_narrow(name, source, std::nullopt);
    RegisterBenchmark(("BM_DecodeSome/" + name).c_str(),
                      [&](benchmark::State& state) { decode_some_rows(state, source); })
        ->Arg(0)
        ->Arg(128)
        ->Arg(64)
        ->Arg(32)
        ->Arg(16)
        ->Arg(8)
        ->Arg(4);
  }
}

struct Forced {
  const char* source;
  Encoding encoding;

  std::string name() const {
    return std::string(source) + " as " + std::string(encoding_name(encoding));
  }
};

void register_reads(const std::string& name, const Source& source, std::optional<Encoding> as) {
  using benchmark::RegisterBenchmark;
  RegisterBenchmark(("BM_Decode/" + name).c_str(),
                    [&source, as](benchmark::State& state) { decode_column(state, source, as); });
  RegisterBenchmark(("BM_Select/" + name).c_str(), [&source, as](benchmark::State& state) {
    select_rows(state, source, nullptr, as);
  });
  RegisterBenchmark(("BM_At/" + name).c_str(),
                    [&source, as](benchmark::State& state) { read_row(state, source, as); });
}

void register_forced() {
  using benchmark::RegisterBenchmark;
  static constexpr Forced kForced[] = {
      {"quantity 1-10", Encoding::kFrame},  {"quantity 1-10", Encoding::kZstd},
      {"s_data", Encoding::kSymbolText},    {"s_data", Encoding::kPlain},
      {"s_data", Encoding::kZstd},          {"last name", Encoding::kPackedText},
      {"last name", Encoding::kSymbolText}, {"last name", Encoding::kSymbolDictionary},
      {"amount", Encoding::kPlain},
  };
  for (const Forced& forced : kForced) {
    const Source& source = source_named(forced.source);
    const Encoding as = forced.encoding;
    RegisterBenchmark(("BM_Encode/" + forced.name()).c_str(),
                      [&source, as](benchmark::State& state) { encode_column(state, source, as); });
    register_reads(forced.name(), source, as);
  }
  static constexpr Forced kThawed[] = {
      {"last name", Encoding::kSpacedDictionary},
      {"text 24", Encoding::kPatchedText},
  };
  for (const Forced& thawed : kThawed) {
    const Source& source = source_named(thawed.source);
    const Encoding as = thawed.encoding;
    register_reads(thawed.name(), source, as);
    register_narrow(thawed.name(), source, as);
    RegisterBenchmark(("BM_Patch/" + thawed.name()).c_str(),
                      [&source, as](benchmark::State& state) { patch_rows(state, source, as); });
  }
}

void register_benchmarks() {
  using benchmark::RegisterBenchmark;
  for (const Source& source : kSources) {
    const std::string name = source.name;
    RegisterBenchmark(("BM_Encode/" + name).c_str(),
                      [&](benchmark::State& state) { encode_column(state, source, std::nullopt); });
    register_reads(name, source, std::nullopt);
  }
  for (const char* name : {"s_data", "syllables", "last name"}) {
    const Source& source = source_named(name);
    RegisterBenchmark(
        (std::string("BM_Equal/") + name).c_str(), [&source](benchmark::State& state) {
          TestColumn column = column_of(source);
          const Predicate equal = Predicate::compare(Comparison::kEqual, column.cell(1000).text);
          select_rows(state, source, &equal, std::nullopt);
        });
  }
  for (const char* name : {"quantity 1-10", "byte frame", "few prices", "last name", "any int"}) {
    const Source& source = source_named(name);
    RegisterBenchmark(
        (std::string("BM_Patch/") + name).c_str(),
        [&source](benchmark::State& state) { patch_rows(state, source, std::nullopt); });
  }
  RegisterBenchmark("BM_SumFromMemory/plain",
                    [](benchmark::State& state) { sum_from_memory(state, nullptr); });
  for (const char* name : {"quantity 1-10", "item id", "byte frame", "short frame"}) {
    const Source& source = source_named(name);
    RegisterBenchmark((std::string("BM_SumFromMemory/") + name).c_str(),
                      [&source](benchmark::State& state) { sum_from_memory(state, &source); });
  }
}

[[maybe_unused]] const bool kRegistered =
    (register_benchmarks(), register_forced(), register_vectors(), true);

}  // namespace
}  // namespace diptych::storage::encoding
