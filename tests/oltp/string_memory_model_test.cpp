// The memory of long strings: a string keeps its bytes, whatever is copied, retired and trimmed
// around it; and the memory follows the strings' sizes.

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/schema.h"
#include "oltp/engine.h"
#include "oltp/string_memory.h"
#include "oltp/transaction.h"
#include "tests/sanitizers.h"

namespace diptych::oltp {
namespace {

using base::Result;

constexpr size_t kMiB = size_t{1} << 20;

void trim(StringDepot* depot, std::vector<StringMemory>* workers) {
  for (StringMemory& worker : *workers) worker.give_back();
  depot->trim();
}

// What the leader does at a boundary (Engine::State). Returns whether it has trimmed.
bool reach_boundary(StringDepot* depot, std::vector<StringMemory>* workers) {
  for (StringMemory& worker : *workers) {
    depot->note_freed(worker.reclaim());
    if (workers->size() > 1) worker.balance();
  }
  if (!depot->is_due()) return false;
  size_t free_bytes = 0;
  for (const StringMemory& worker : *workers) free_bytes += worker.free_bytes();
  if (!depot->has_much_free(free_bytes)) return false;
  trim(depot, workers);
  return true;
}

struct Copy {
  base::Text text;
  char filling;
  bool is_whole() const {
    return std::ranges::all_of(text.view(), [&](char byte) { return byte == filling; });
  }
};

void expect_strings_keep_their_bytes(size_t worker_count, uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  StringDepot depot(base::NumaNode(0));
  std::vector<StringMemory> workers(worker_count, StringMemory(&depot));
  std::vector<Copy> live;
  size_t bytes = 0;
  for (uint32_t batch = 0; batch < 200; ++batch) {
    // Sizes of a batch are alike; those of all are of all kinds of spans.
    const size_t doubling = 8 + random() % 12;
    const size_t copies = (kMiB >> doubling) + 1;
    for (size_t i = 0; i < copies; ++i) {
      const std::string text(1 + random() % (size_t{1} << doubling),
                             static_cast<char>('a' + random() % 26));
      live.push_back({workers[random() % worker_count].copy(text), text.front()});
      bytes += text.size();
      std::swap(live.back(), live[random() % live.size()]);
    }
    // From 25 MiB down to nothing, and again.
    const size_t bytes_max = std::max<size_t>(50 - batch % 50, 1) * kMiB / 2;
    for (size_t i = 0; bytes > bytes_max && i < 8 * copies; ++i) {
      ASSERT_TRUE(live.back().is_whole());
      bytes -= live.back().text.size;
      workers[random() % worker_count].retire(live.back().text);
      live.pop_back();
    }
    reach_boundary(&depot, &workers);
    if (random() % 8 == 0) trim(&depot, &workers);
  }
  for (const Copy& copy : live) ASSERT_TRUE(copy.is_whole());
  depot.clear();
  EXPECT_EQ(depot.allocated_bytes(), 0u);
}

TEST(StringMemoryModel, StringsKeepTheirBytes) {
  const uint64_t seeds = diptych::test::kSanitized ? 1 : 3;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    expect_strings_keep_their_bytes(1, seed);
    expect_strings_keep_their_bytes(3, seed);
  }
}

// A batch that frees much each time needs it again in the next one.
TEST(StringMemoryModel, MemoryThatEachBatchNeedsIsKept) {
  StringDepot depot(base::NumaNode(0));
  std::vector<StringMemory> workers(1, StringMemory(&depot));
  const std::string text(20'000, 'x');
  std::vector<base::Text> strings;
  uint32_t trims = 0;
  for (int batch = 0; batch < 50; ++batch) {
    for (int i = 0; i < 1000; ++i) strings.push_back(workers[0].copy(text));
    for (const base::Text& copy : strings) workers[0].retire(copy);
    strings.clear();
    trims += reach_boundary(&depot, &workers) ? 1 : 0;
  }
  EXPECT_EQ(trims, 0u);
}

struct Blob {
  int64_t id;
  base::Text data;
};
BOOST_DESCRIBE_STRUCT(Blob, (), (id, data))

struct Range {
  int64_t first;
  int64_t end;
  uint64_t bytes;
};

class Blobs {
 public:
  explicit Blobs(uint32_t workers) {
    base::TableSchema blob;
    blob.name = "blob";
    for (const base::BoundColumn& column : base::bound_columns<Blob>()) {
      blob.columns.push_back({column.name, column.type, column.nullability});
    }
    base::IndexSchema key;
    key.name = "blob_pkey";
    key.kind = base::IndexKind::kHash;
    key.uniqueness = base::Uniqueness::kUnique;
    key.columns = {base::ColumnId(0)};
    blob.indexes = {key};
    EXPECT_TRUE(catalog_.add_table(std::move(blob)));
    EngineOptions options;
    options.placement.threads = workers;
    options.export_updates = false;
    engine_ = std::make_unique<Engine>(&catalog_, options, nullptr);
    const auto table = *bind_table<Blob>(catalog_, "blob");
    const auto by_id = *bind_index<&Blob::id>(catalog_, "blob_pkey");
    put_ = engine_->register_procedure(define_procedure<Range, Nothing>(
        "put", [=](Transaction& txn, const Range& range) -> Result<Nothing> {
          for (int64_t id = range.first; id < range.end; ++id) {
            const std::string data(range.bytes, static_cast<char>('a' + id % 26));
            auto row = txn.get_for_update<&Blob::id>(by_id, id);
            if (row) {
              txn.update(*row, set<&Blob::data>(std::string_view(data)));
              continue;
            }
            auto added = txn.insert(table, Blob{id, std::string_view(data)});
            if (!added) return added.error();
          }
          return Nothing{};
        }));
  }

  // Sets all rows' data, some rows a call, in batches of 16 calls.
  void put_all(int64_t rows, size_t bytes) {
    const int64_t step = std::max<int64_t>(1, rows / 160);
    for (int64_t first = 0; first < rows;) {
      std::vector<Range> ranges;
      for (; ranges.size() < 16 && first < rows; first += step) {
        ranges.push_back({first, std::min(rows, first + step), bytes});
      }
      std::vector<Request> requests(ranges.size());
      std::vector<Request*> batch;
      for (size_t i = 0; i < ranges.size(); ++i) {
        requests[i].procedure = put_;
        requests[i].arguments = std::as_bytes(std::span(&ranges[i], 1));
        batch.push_back(&requests[i]);
      }
      while (!batch.empty()) batch = engine_->run_batch(batch).again;
      for (const Request& request : requests) ASSERT_TRUE(request.outcome);
    }
  }
  size_t string_bytes() const { return engine_->metrics().string_bytes; }

 private:
  base::Catalog catalog_;
  std::unique_ptr<Engine> engine_;
  base::ProcedureId put_;
};

TEST(StringMemoryModel, MemoryFollowsTheSizesOfStrings) {
  for (const uint32_t workers : {1u, 2u}) {
    Blobs blobs(workers);
    constexpr int64_t kRows = 30'000;
    for (size_t bytes = 30; bytes <= 1000; bytes += 97) {
      blobs.put_all(kRows, bytes);
      EXPECT_LE(blobs.string_bytes(), kRows * bytes * 3 / 2 + 40 * kMiB) << bytes;
    }
    blobs.put_all(kRows, 100);
    EXPECT_LE(blobs.string_bytes(), kRows * 100 + 40 * kMiB);
  }
}

TEST(StringMemoryModel, MemoryOfLargeStringsIsGivenBack) {
  for (const uint32_t workers : {1u, 2u}) {
    Blobs blobs(workers);
    constexpr int64_t kRows = 100;
    for (const size_t bytes : {size_t{50'000}, 260 * 1024 * size_t{1}, 500 * 1024 * size_t{1}}) {
      blobs.put_all(kRows, bytes);
      EXPECT_LE(blobs.string_bytes(), kRows * bytes * 3 / 2 + 40 * kMiB) << bytes;
    }
    blobs.put_all(kRows, 100);
    for (int i = 0; i < 10; ++i) blobs.put_all(kRows, 30'000);
    EXPECT_LE(blobs.string_bytes(), kRows * 30'000 + 40 * kMiB);
  }
}

}  // namespace
}  // namespace diptych::oltp
