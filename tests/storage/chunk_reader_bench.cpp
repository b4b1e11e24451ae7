// What ChunkReader reads a second from a file of 1 GiB in the working directory, chunk after chunk
// as a scan does, verified: by depth, into arena or heap. To compare with the disk itself:
//
//   fio --name=read --filename=chunk_reader_bench/blocks.dtb --rw=read --bs=256k --direct=1
//       --ioengine=io_uring --iodepth=16 [--fixedbufs=1]
//
// in turns with runs for which DIPTYCH_KEEP_BENCH_FILE is set, which leaves the file for the next.
// Also what writing chunks takes, until they are durable.

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <xxhash.h>

#include "storage/chunk_reader.h"
#include "tests/storage/random_chunk.h"

namespace diptych::storage {
namespace {

constexpr uint32_t kChunkBytes = 256 * 1024;
constexpr uint32_t kChunks = 4096;
const char* const kDirectory = "chunk_reader_bench";

// Written once, and once for several runs if it is kept: chunk i is random_chunk(i).
class BenchFile {
 public:
  BenchFile() {
    std::filesystem::create_directories(kDirectory);
    auto file = BlockFile::open(kDirectory);
    if (!file || !adopt_all(file->get())) {
      file = BlockFile::create(kDirectory);
      DIPTYCH_CHECK(file.ok() && write_all(file->get()), "the working directory has 1 GiB free");
    }
    file_ = std::move(*file);
  }
  ~BenchFile() {
    if (std::getenv("DIPTYCH_KEEP_BENCH_FILE") == nullptr) {
      std::filesystem::remove_all(kDirectory);
    }
  }

  static BenchFile& instance() {
    static BenchFile file;
    return file;
  }
  const BlockFile& file() const { return *file_; }
  const ChunkAddress& address(size_t chunk) const { return addresses_[chunk % kChunks]; }

 private:
  bool write_all(BlockFile* file) {
    addresses_.clear();
    for (uint32_t i = 0; i < kChunks; ++i) {
      const auto address = file->write(test::random_chunk(i, kChunkBytes));
      if (!address) return false;
      addresses_.push_back(*address);
    }
    return file->sync().ok();
  }
  // Chunks lie where a file that is written as above gets them.
  bool adopt_all(BlockFile* file) {
    SpaceMap space;
    for (uint32_t i = 0; i < kChunks; ++i) {
      ChunkAddress address{0, kChunkBytes, 0};
      std::optional<uint32_t> page = space.allocate(address.pages());
      if (!page) {
        space.grow(space.extents_to_grow(address.pages()));
        page = space.allocate(address.pages());
      }
      address.page = *page;
      const auto chunk = test::random_chunk(i, kChunkBytes);
      address.checksum = XXH3_64bits(chunk.data(), chunk.size());
      if (!file->adopt(address)) return false;
      addresses_.push_back(address);
    }
    return true;
  }

  std::unique_ptr<BlockFile> file_;
  std::vector<ChunkAddress> addresses_;
};

// Keeps twice the depth started ahead of the one that it waits for: what arrives early makes way
// for the next at once, though it is waited for in order.
void read_all(benchmark::State& state, ReadWay way, size_t arena_bytes) {
  const BenchFile& bench = BenchFile::instance();
  const auto depth = static_cast<uint32_t>(state.range(0));
  ChunkArena arena(arena_bytes, base::NumaNode(0));
  ChunkReader reader(&bench.file(), &arena, depth, way);
  DIPTYCH_CHECK(reader.way() == way, "the system allows what is measured");
  const size_t ahead = size_t{2} * depth;
  std::vector<ChunkRead> reads(ahead);
  for (auto _ : state) {
    for (size_t i = 0; i < kChunks + ahead; ++i) {
      ChunkRead& read = reads[i % ahead];
      if (i >= ahead) {
        const auto done = reader.wait(&read);
        DIPTYCH_CHECK(done.ok(), "what was written is read");
        benchmark::DoNotOptimize(read.memory.bytes().data());
        read.memory = ChunkMemory();
      }
      if (i >= kChunks) continue;
      read.address = bench.address(i);
      reader.start(&read);
    }
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * kChunks * kChunkBytes);
}

void BM_ChunkReaderArena(benchmark::State& state) {
  read_all(state, ReadWay::kRegisteredRing, 64 * kChunkBytes);
}
void BM_ChunkReaderUnregistered(benchmark::State& state) {
  read_all(state, ReadWay::kRing, 64 * kChunkBytes);
}
void BM_ChunkReaderHeap(benchmark::State& state) {
  read_all(state, ReadWay::kRing, 0);
}
void BM_ChunkReaderBlocking(benchmark::State& state) {
  read_all(state, ReadWay::kBlocking, 64 * kChunkBytes);
}

// A sync for 64 MiB.
void BM_BlockFileWrite(benchmark::State& state) {
  const std::string directory = std::string(kDirectory) + "_writes";
  std::filesystem::create_directories(directory);
  constexpr uint32_t kWrites = 256;
  const auto chunk = test::random_chunk(1, kChunkBytes);
  {
    const auto file = BlockFile::create(directory);
    DIPTYCH_CHECK(file.ok(), "the working directory takes a file");
    std::vector<ChunkAddress> addresses;
    for (auto _ : state) {
      for (const ChunkAddress& address : addresses) (*file)->release(address);
      addresses.clear();
      for (uint32_t i = 0; i < kWrites; ++i) {
        const auto address = (*file)->write(chunk);
        DIPTYCH_CHECK(address.ok(), "the disk has space");
        addresses.push_back(*address);
      }
      const bool durable = (*file)->sync().ok() && (*file)->commit().ok();
      DIPTYCH_CHECK(durable, "the disk takes what was written");
    }
  }
  std::filesystem::remove_all(directory);
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * kWrites * kChunkBytes);
}

BENCHMARK(BM_BlockFileWrite)->UseRealTime();
BENCHMARK(BM_ChunkReaderArena)->Arg(8)->Arg(16)->Arg(32)->UseRealTime();
BENCHMARK(BM_ChunkReaderUnregistered)->Arg(8)->Arg(16)->Arg(32)->UseRealTime();
BENCHMARK(BM_ChunkReaderHeap)->Arg(8)->Arg(16)->Arg(32)->UseRealTime();
BENCHMARK(BM_ChunkReaderBlocking)->Arg(1)->UseRealTime();

}  // namespace
}  // namespace diptych::storage
