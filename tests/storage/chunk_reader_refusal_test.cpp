// What a reader does where the system refuses io_uring, parts of it, or single submissions: a
// seccomp filter in a process of the test's own refuses, as a container's does.

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "storage/chunk_reader.h"
#include "tests/storage/random_chunk.h"
#include "tests/temporary_directory.h"

namespace diptych::storage {
namespace {

// From now on this thread's calls of `call` whose second argument is `argument`, or is not 0 where
// none is given, fail with `error_number`.
void refuse(unsigned call, std::optional<unsigned> argument, unsigned error_number) {
  const unsigned short to_refusal = argument ? BPF_JEQ : BPF_JGT;
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args) + sizeof(uint64_t)),
      BPF_JUMP(static_cast<unsigned short>(BPF_JMP | to_refusal | BPF_K), argument.value_or(0), 0,
               1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error_number),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {std::size(code), code};
  const bool refused = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
  DIPTYCH_CHECK(refused, "a process may refuse itself system calls");
}

// A file, and reads of all of its chunks.
class RefusedReads {
 public:
  RefusedReads() : arena_(4 << 20, base::NumaNode(0)), reads_(kChunks) {
    auto file = BlockFile::create(directory_.path());
    DIPTYCH_CHECK(file.ok(), "a file can be made");
    file_ = std::move(*file);
    for (uint32_t i = 0; i < kChunks; ++i) {
      reads_[i].address = *file_->write(test::random_chunk(i, kChunkBytes));
    }
  }

  void open_reader() { reader_.emplace(file_.get(), &arena_, 4); }
  ReadWay way() const { return reader_->way(); }
  void start_all() {
    for (ChunkRead& read : reads_) reader_->start(&read);
  }
  bool all_are_right() {
    bool right = true;
    for (uint32_t i = 0; i < kChunks; ++i) {
      right = right && reader_->wait(&reads_[i]).ok() &&
              test::same_bytes(reads_[i].memory.bytes(), test::random_chunk(i, kChunkBytes));
      reads_[i].memory = ChunkMemory();
    }
    return right;
  }
  void close_reader() { reader_.reset(); }

 private:
  static constexpr uint32_t kChunks = 40;
  static constexpr uint32_t kChunkBytes = 150'000;

  diptych::test::TemporaryDirectory directory_;
  std::unique_ptr<BlockFile> file_;
  ChunkArena arena_;
  std::vector<ChunkRead> reads_;
  std::optional<ChunkReader> reader_;
};

// Twice, as things are said once; then ends the process. `right`: 0.
[[noreturn]] void read_and_exit(ReadWay expected_way) {
  bool right = true;
  {
    RefusedReads reads;
    for (int i = 0; i < 2; ++i) {
      reads.open_reader();
      right = right && reads.way() == expected_way;
      reads.start_all();
      right = right && reads.all_are_right();
      reads.close_reader();
    }
  }
  std::exit(right ? 0 : 1);
}

// Whether the system itself refuses something: the tests' refusals then come too late.
bool refuses_already() {
  RefusedReads reads;
  reads.open_reader();
  return reads.way() != ReadWay::kRegisteredRing;
}

TEST(ChunkReaderDeathTest, ReadsWithoutIoUringAndSaysSoOnce) {
  for (const unsigned error_number : {EPERM, ENOSYS}) {
    EXPECT_EXIT(
        {
          refuse(SYS_io_uring_setup, std::nullopt, error_number);
          read_and_exit(ReadWay::kBlocking);
        },
        testing::ExitedWithCode(0),
        "^diptych: chunks are read one at a time, without io_uring: the system refuses: [^\n]*\n$");
  }
}

TEST(ChunkReaderDeathTest, ReadsWithoutRegisteredMemoryAndSaysSoOnce) {
  if (refuses_already()) GTEST_SKIP() << "this system refuses io_uring or locked memory";
  EXPECT_EXIT(
      {
        refuse(SYS_io_uring_register, IORING_REGISTER_BUFFERS, ENOMEM);
        read_and_exit(ReadWay::kRing);
      },
      testing::ExitedWithCode(0),
      "^diptych: chunks are read into memory that io_uring pins anew[^\n]*Cannot allocate memory\n"
      "$");
}

TEST(ChunkReaderDeathTest, ReadsWithoutARegisteredFile) {
  if (refuses_already()) GTEST_SKIP() << "this system refuses io_uring or locked memory";
  EXPECT_EXIT(
      {
        refuse(SYS_io_uring_register, IORING_REGISTER_FILES, ENOMEM);
        read_and_exit(ReadWay::kRegisteredRing);
      },
      testing::ExitedWithCode(0), "^$");
}

TEST(ChunkReaderDeathTest, ReadsWhatTheSystemHasNoMemoryToTake) {
  if (refuses_already()) GTEST_SKIP() << "this system refuses io_uring or locked memory";
  EXPECT_EXIT(
      {
        refuse(SYS_io_uring_enter, std::nullopt, EAGAIN);
        read_and_exit(ReadWay::kRegisteredRing);
      },
      testing::ExitedWithCode(0), "^$");
}

TEST(ChunkReaderDeathTest, ReadsWhatTheSystemTakesNoMoreWhileOthersAreInFlight) {
  if (refuses_already()) GTEST_SKIP() << "this system refuses io_uring or locked memory";
  EXPECT_EXIT(
      {
        bool right = true;
        {
          RefusedReads reads;
          reads.open_reader();
          reads.start_all();
          refuse(SYS_io_uring_enter, std::nullopt, EAGAIN);
          right = reads.all_are_right();
          reads.start_all();
          right = right && reads.all_are_right();
        }
        std::exit(right ? 0 : 1);
      },
      testing::ExitedWithCode(0), "^$");
}

}  // namespace
}  // namespace diptych::storage
