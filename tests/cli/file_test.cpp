#include "cli/file.h"

#include <array>
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "cli/output.h"
#include "tests/cli/program_run.h"

namespace diptych::cli {
namespace {

namespace fs = std::filesystem;

TEST(File, AFileIsReplacedAndNothingIsLeftBesideIt) {
  const ScratchFolder folder;
  const std::string path = folder.file("report", "the old one, which is longer");
  EXPECT_EQ(check_output_path(path), "");
  EXPECT_EQ(check_output_path("-"), "\"-\" is no file here (./- is)");
  ASSERT_TRUE(write_file(path, "new").ok());
  EXPECT_EQ(*read_file(path), "new");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path(".")), {}), 1);
}

TEST(File, OtherFilesBesideItAreLeftAlone) {
  const ScratchFolder folder;
  const std::string own = folder.file("own", "precious");
  const std::string path = folder.path("report");
  fs::create_symlink(own, path + ".part");
  fs::create_symlink(own, path + "." + std::to_string(::getpid()) + ".0.part");
  EXPECT_EQ(check_output_path(path), "");
  ASSERT_TRUE(write_file(path, "new").ok());
  EXPECT_EQ(*read_file(path), "new");
  EXPECT_EQ(*read_file(own), "precious");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path(".")), {}), 4);
}

TEST(File, AByteOrderMarkIsNoText) {
  const ScratchFolder folder;
  EXPECT_EQ(*read_file(folder.file("script", "\xEF\xBB\xBFselect 1")), "select 1");
  EXPECT_EQ(*read_file(folder.file("short", "\xEF\xBB")), "\xEF\xBB");
}

TEST(File, TwoPathsMayBeOfOneFile) {
  const ScratchFolder folder;
  const std::string path = folder.path("report");
  EXPECT_TRUE(is_one_file(path, folder.path("./report")));
  EXPECT_FALSE(is_one_file(path, folder.path("other")));
  EXPECT_FALSE(is_one_file("", ""));
}

TEST(File, ALinkStaysALink) {
  const ScratchFolder folder;
  const std::string target = folder.file("target", "the old one, which is longer");
  const std::string link = folder.path("link");
  fs::create_symlink(target, link);
  EXPECT_EQ(check_output_path(link), "");
  ASSERT_TRUE(write_file(link, "new").ok());
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(*read_file(target), "new");
}

// As /dev/null and every device must; a pipe is one that a test can make.
TEST(File, APipeStaysAPipe) {
  const ScratchFolder folder;
  const std::string path = folder.path("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  EXPECT_EQ(check_output_path(path), "");
  ASSERT_TRUE(write_file(path, "new").ok());
  std::array<char, 8> buffer;
  const ssize_t bytes = ::read(reader, buffer.data(), buffer.size());
  close(reader);
  ASSERT_EQ(bytes, 3);
  EXPECT_EQ(std::string_view(buffer.data(), 3), "new");
  EXPECT_TRUE(fs::is_fifo(path));
}

// A pipe that does not block, as another program's end of it may have it: O_NONBLOCK is both's.
class NonBlockingPipe {
 public:
  NonBlockingPipe() { DIPTYCH_CHECK(::pipe2(ends_, O_NONBLOCK) == 0, "a process may have pipes"); }
  ~NonBlockingPipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  NonBlockingPipe(const NonBlockingPipe&) = delete;
  NonBlockingPipe& operator=(const NonBlockingPipe&) = delete;

  int out() const { return ends_[0]; }
  int in() const { return ends_[1]; }
  void close_in() { ::close(std::exchange(ends_[1], -1)); }

 private:
  int ends_[2] = {-1, -1};
};

TEST(File, OutputWaitsForAReaderThatIsSlow) {
  NonBlockingPipe pipe;
  const std::string text(1'000'000, 'x');
  size_t got = 0;
  std::jthread reader([&] {
    std::vector<char> buffer(100'000);
    while (got < text.size()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const ssize_t bytes = ::read(pipe.out(), buffer.data(), buffer.size());
      if (bytes == 0) break;
      if (bytes > 0) got += static_cast<size_t>(bytes);
    }
  });
  EXPECT_EQ(write_all(pipe.in(), text), 0);
  pipe.close_in();
  reader.join();
  EXPECT_EQ(got, text.size());
}

TEST(File, InputWaitsForAWriterThatIsSlow) {
  NonBlockingPipe pipe;
  const int standard = ::dup(STDIN_FILENO);
  ASSERT_GE(::dup2(pipe.out(), STDIN_FILENO), 0);
  std::jthread writer([&] {
    for (const std::string_view word : {"select", " 1"}) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_EQ(write_all(pipe.in(), word), 0);
    }
    pipe.close_in();
  });
  const auto text = read_file("-");
  ASSERT_EQ(standard < 0 ? ::close(STDIN_FILENO) : ::dup2(standard, STDIN_FILENO), 0);
  if (standard >= 0) ::close(standard);
  ASSERT_TRUE(text.ok()) << text.error().to_string();
  EXPECT_EQ(*text, "select 1");
}

}  // namespace
}  // namespace diptych::cli
