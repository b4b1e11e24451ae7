#include "workloads/recovery.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "workloads/free_memory.h"
#include "workloads/session.h"

namespace diptych::workloads {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::Result;

constexpr size_t kOpenings = 5;
constexpr size_t kReadBytes = size_t{1} << 20;
// What a running database takes of memory, at most, for each byte of its files, about.
constexpr uint64_t kMemoryPerFileByte = 6;

base::Error failed(const char* what, const std::string& path) {
  return {ErrorCode::kIo, fmt::format("cannot {} {}: errno {}", what, path, errno)};
}

base::Error failed(const char* what, const std::string& path, const std::error_code& why) {
  return {ErrorCode::kIo, fmt::format("cannot {} {}: {}", what, path, why.message())};
}

Result<std::vector<std::string>> files_of(const std::string& path) {
  std::vector<std::string> files;
  std::error_code refused;
  for (fs::directory_iterator entry(path, refused), end; !refused && entry != end;
       entry.increment(refused)) {
    const bool is_file = entry->is_regular_file(refused);
    if (refused) break;
    if (is_file) files.push_back(entry->path().string());
  }
  if (refused) return failed("read", path, refused);
  return files;
}

// Written back, and out of the page cache.
Result<void> make_cold(const std::string& path) {
  const auto files = files_of(path);
  if (!files) return files.error();
  for (const std::string& name : *files) {
    const base::Descriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return failed("open", name);
    const bool cold =
        ::fsync(file.get()) == 0 && ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED) == 0;
    if (!cold) return failed("drop from the page cache", name);
  }
  return {};
}

double median(std::vector<double>* values) {
  const auto middle = values->begin() + static_cast<std::ptrdiff_t>(values->size() / 2);
  std::nth_element(values->begin(), middle, values->end());
  return *middle;
}

Result<uint64_t> bytes_of(const std::string& path) {
  const auto files = files_of(path);
  if (!files) return files.error();
  uint64_t bytes = 0;
  for (const std::string& name : *files) {
    std::error_code refused;
    bytes += fs::file_size(name, refused);
    if (refused) return failed("read", name, refused);
  }
  return bytes;
}

// A directory of the run's own: new, and gone with the object.
class OwnDirectory {
 public:
  static Result<OwnDirectory> make(std::string path) {
    std::error_code refused;
    if (fs::create_directory(path, refused)) return OwnDirectory(std::move(path));
    if (refused) return failed("create", path, refused);
    return base::Error(ErrorCode::kAlreadyExists,
                       fmt::format("{} is there already: remove it, or give a path", path));
  }
  OwnDirectory(OwnDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  OwnDirectory& operator=(OwnDirectory&&) = delete;
  ~OwnDirectory() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  explicit OwnDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

Result<uint64_t> read_all(const std::string& path) {
  const auto files = files_of(path);
  if (!files) return files.error();
  std::vector<std::byte> buffer(kReadBytes);
  uint64_t bytes = 0;
  for (const std::string& name : *files) {
    const base::Descriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return failed("open", name);
    ssize_t got = 0;
    while ((got = ::read(file.get(), buffer.data(), buffer.size())) > 0) {
      bytes += static_cast<uint64_t>(got);
    }
    if (got < 0) return failed("read", name);
  }
  return bytes;
}

BenchmarkOptions benchmark_options(const RecoveryOptions& options, const std::string& path) {
  BenchmarkOptions out;
  out.warehouses = options.warehouses;
  out.transaction_clients = options.transaction_clients;
  out.seconds = options.seconds;
  out.warmup_seconds = 0.2;
  out.cooldown_seconds = 0;
  out.placement = options.placement;
  out.isolation = options.isolation;
  out.log = options.log;
  out.checkpoint_log_bytes = 0;
  out.keep_path = path;
  out.seed = options.seed;
  return out;
}

class RecoveryRun {
 public:
  RecoveryRun(const RecoveryOptions& options, std::string path, const StopFlag& stop,
              const Progress& progress)
      : options_(benchmark_options(options, path)),
        path_(std::move(path)),
        stop_(stop),
        progress_(progress) {
    report_.options = options;
  }

  Result<RecoveryBenchmarkReport> run() {
    using Step = Result<void> (RecoveryRun::*)();
    for (const Step step : {&RecoveryRun::make, &RecoveryRun::measure_openings,
                            &RecoveryRun::run_and_crash, &RecoveryRun::measure_replay}) {
      if (stopped(stop_)) break;
      if (auto done = (this->*step)(); !done) return done.error();
    }
    report_.interrupted = stopped(stop_);
    return report_;
  }

 private:
  Result<void> make() {
    auto session = Session::open(options_, stop_, progress_);
    if (!session) return session.error();
    progress_("closing the database", -1);
    return (*session)->database()->close();
  }

  // Now and then the machine's host takes memory back between the touching of it and its use.
  Result<void> measure_openings() {
    std::vector<double> reading;
    std::vector<double> opening;
    do {
      if (auto opened = measure_opening(); !opened) return opened;
      reading.push_back(report_.files_read_seconds);
      opening.push_back(report_.recovery_seconds);
    } while (reading.size() < kOpenings && !stopped(stop_));
    report_.files_read_seconds = median(&reading);
    report_.recovery_seconds = median(&opening);
    return {};
  }

  Result<void> measure_opening() {
    progress_("reading the files", -1);
    if (auto cold = make_cold(path_); !cold) return cold;
    const auto expected = bytes_of(path_);
    if (!expected) return expected.error();
    touch_free_memory(kMemoryPerFileByte * *expected);
    uint64_t begin_ns = base::steady_ns();
    auto bytes = read_all(path_);
    if (!bytes) return bytes.error();
    report_.files_read_seconds = base::seconds_since(begin_ns);
    report_.file_bytes = *bytes;
    if (auto cold = make_cold(path_); !cold) return cold;
    touch_free_memory(kMemoryPerFileByte * *bytes);
    progress_("opening the database", -1);
    begin_ns = base::steady_ns();
    auto session = Session::reopen(options_);
    if (!session) return session.error();
    report_.recovery_seconds = base::seconds_since(begin_ns);
    return (*session)->database()->close();
  }

  Result<void> run_and_crash() {
    auto session = Session::reopen(options_);
    if (!session) return session.error();
    dispatcher::Database& database = *(*session)->database();
    // From the first report of progress, when the calls have begun, to the last one, when no more
    // are made: the start and the end of threads, and reports, take no part in it.
    std::optional<uint64_t> begin_ns;
    uint64_t first_vid = 0;
    const auto rated = [&](const std::string& what, double done) {
      const uint64_t vid = database.metrics().last_vid.value;
      if (!begin_ns) {
        begin_ns = base::steady_ns();
        first_vid = vid;
      } else if (const double spent = base::seconds_since(*begin_ns); spent > 0) {
        report_.first_transactions_per_second = static_cast<double>(vid - first_vid) / spent;
      }
      progress_(what, done);
    };
    auto report = (*session)->measure(options_, stop_, rated);
    if (!report) return report.error();
    if (report->calls_failed != 0) {
      return base::Error(ErrorCode::kIo, "calls failed while the log was made");
    }
    return database.discard();
  }

  Result<void> measure_replay() {
    progress_("replaying the log", -1);
    auto session = Session::reopen(options_);
    if (!session) return session.error();
    auto recovered = (*session)->database()->recover();
    if (!recovered) return recovered.error();
    report_.log_bytes = recovered->log_bytes;
    report_.replayed_transactions = recovered->transactions;
    report_.replay_seconds = recovered->seconds;
    report_.replayed_transactions_per_second =
        static_cast<double>(recovered->transactions) / recovered->seconds;
    progress_("rebuilding a lost primary", -1);
    auto rebuilt = (*session)->database()->rebuild_primary();
    if (!rebuilt) return rebuilt.error();
    report_.lost_primary_seconds = rebuilt->seconds;
    report_.checks = (*session)->finish(stop_, progress_);
    return {};
  }

  const BenchmarkOptions options_;
  const std::string path_;
  const StopFlag& stop_;
  const Progress& progress_;
  RecoveryBenchmarkReport report_;
};

}  // namespace

Result<RecoveryBenchmarkReport> run_recovery(const RecoveryOptions& options, const StopFlag& stop,
                                             const Progress& progress) {
  if (!options.path.empty()) return RecoveryRun(options, options.path, stop, progress).run();
  const auto own = OwnDirectory::make(fmt::format("diptych-recovery-{}", ::getpid()));
  if (!own) return own.error();
  return RecoveryRun(options, own->path(), stop, progress).run();
}

}  // namespace diptych::workloads
