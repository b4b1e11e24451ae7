// Each statement of a script is executed: it ends soon and within its memory, with rows or with an
// error that has words and an SQLSTATE; alone with one thread it gives the rows that it gives with
// two beside itself and the statement before. Input: the text of a script.
//
// Rows are compared where SQL says which they are (is_function_of_tables). What only a larger
// budget or more time could answer is not compared.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <sanitizer/allocator_interface.h>
#include <xxhash.h>

#include "base/utf8.h"
#include "tests/fuzz/query_tables.h"
#include "tests/fuzz/sql_mutator.h"

namespace diptych::olap::fuzz {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kStatementsMax = 3;
constexpr size_t kQueryBytesMax = size_t{64} << 20;
constexpr size_t kQueriesBytesMax = 3 * kQueryBytesMax;
// Besides what queries are charged for: plans, rows in flight, what this program keeps.
constexpr size_t kHeapBytesMax = kQueriesBytesMax + (size_t{128} << 20);
constexpr std::chrono::microseconds kDeadline(500'000);
// Few statements last so long: those of one script of kScriptsAShortOne have less time, from a
// microsecond to what most of them take.
constexpr uint64_t kScriptsAShortOne = 8;
constexpr uint64_t kShortDeadlines = 14;  // each twice as long as the one before
// From the deadline to the end of the run, beside other programs and under the sanitizers.
constexpr std::chrono::seconds kStopMax(5);
constexpr uint64_t kRowsComparedMax = 3000;

// HeapPeak: how much the heap grew since it began. The hooks are called by all threads.
class HeapPeak {
 public:
  HeapPeak() {
    __sanitizer_install_malloc_and_free_hooks(
        [](const volatile void*, size_t bytes) { add(static_cast<int64_t>(bytes)); },
        [](const volatile void* freed) {
          const void* const place = const_cast<const void*>(freed);
          if (place != nullptr) add(-static_cast<int64_t>(__sanitizer_get_allocated_size(place)));
        });
  }
  void begin() {
    // relaxed, here and below: sums of one thread after another, read when the others have ended.
    used_.store(0, std::memory_order_relaxed);
    peak_.store(0, std::memory_order_relaxed);
  }
  static int64_t bytes() {
    // relaxed: as above.
    return peak_.load(std::memory_order_relaxed);
  }

 private:
  static void add(int64_t bytes) {
    // relaxed: as above.
    const int64_t used = used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    int64_t peak = peak_.load(std::memory_order_relaxed);
    // relaxed: as above.
    while (used > peak && !peak_.compare_exchange_weak(peak, used, std::memory_order_relaxed)) {
    }
  }

  static inline std::atomic<int64_t> used_{0};  // writers: all threads
  static inline std::atomic<int64_t> peak_{0};  // writers: all threads
};

// Deadline: a thread that expires a run's control when its time is over.
class Deadline {
 public:
  Deadline() : thread_([this](const std::stop_token& stop) { watch(stop); }) {}

  void begin(QueryControl* control, std::chrono::microseconds time) {
    const std::lock_guard lock(mutex_);
    control_ = control;
    end_ = Clock::now() + time;
    changed_.notify_one();
  }
  // The control is not touched any more.
  void end() {
    const std::lock_guard lock(mutex_);
    control_ = nullptr;
    DIPTYCH_CHECK(Clock::now() < end_ + kStopMax, "a query whose time is over ends soon");
  }

 private:
  void watch(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      changed_.wait(lock, stop, [this] { return control_ != nullptr; });
      while (control_ != nullptr && !stop.stop_requested()) {
        const Clock::time_point end = end_;
        changed_.wait_until(lock, stop, end, [&] { return control_ == nullptr || end_ != end; });
        if (control_ == nullptr || Clock::now() < end_) continue;
        control_->expire();
        control_ = nullptr;
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  QueryControl* control_ = nullptr;
  Clock::time_point end_;
  std::jthread thread_;
};

// What a statement came to.
struct Outcome {
  std::optional<base::Error> error;
  uint64_t row_count = 0;
  std::vector<std::string> rows;  // sorted; none where there are too many to compare
};

bool is_about_resources(const Outcome& outcome) {
  using base::ErrorCode;
  return outcome.error.has_value() && (outcome.error->code == ErrorCode::kOutOfMemory ||
                                       outcome.error->code == ErrorCode::kDeadlineExceeded);
}

void check_error(const base::Error& error) {
  if (error.code != base::ErrorCode::kDeadlineExceeded) check_refusal(error);
  DIPTYCH_CHECK(error.sqlstate().size() == 5 && error.sqlstate() != "XX000",
                "an error has an SQLSTATE of its own");
}

// Reads every value.
Outcome outcome_of(const base::Result<QueryResult>& result, bool is_utf8) {
  Outcome outcome;
  if (!result) {
    check_error(result.error());
    outcome.error = result.error();
    return outcome;
  }
  outcome.row_count = result->rows.size();
  for (const auto& row : result->rows) {
    if (outcome.rows.size() == kRowsComparedMax) break;
    std::string line;
    for (const base::Value& value : row) line += base::to_string(value) + '|';
    DIPTYCH_CHECK(!is_utf8 || base::is_valid_utf8(line), "texts of texts are UTF-8");
    outcome.rows.push_back(std::move(line));
  }
  if (outcome.row_count > kRowsComparedMax) outcome.rows.clear();
  std::sort(outcome.rows.begin(), outcome.rows.end());
  return outcome;
}

// Not where the order of rows that nobody ordered shows, the time, chance, or, with sums of
// doubles, the order of additions.
bool is_function_of_tables(std::string_view sql) {
  constexpr std::string_view kOfAnOrder[] = {
      "limit",  "fetch", "offset", "over",    "string_agg", "distinct on", "distinct on(",
      "random", "now",   "mode",   "explain", "current",    "localtime",   "any_value"};
  constexpr std::string_view kOfDoubles[] = {"ratio", "weight", "double", "float", "real"};
  constexpr std::string_view kSums[] = {"sum", "avg", "stddev", "var", "corr", "covar", "regr"};
  const std::string text = text_of(tokens_of(sql));
  const auto has = [&](std::string_view word) { return text.find(word) != text.npos; };
  if (std::any_of(std::begin(kOfAnOrder), std::end(kOfAnOrder), has)) return false;
  const bool doubles = std::any_of(std::begin(kOfDoubles), std::end(kOfDoubles), has);
  const bool sums = std::any_of(std::begin(kSums), std::end(kSums), has);
  return !(doubles && sums) && std::none_of(std::begin(kSums) + 2, std::end(kSums), has);
}

// A function of the script, so that what was found is found again.
std::chrono::microseconds time_of(std::string_view script) {
  const uint64_t hash = XXH3_64bits(script.data(), script.size());
  if (hash % kScriptsAShortOne != 0) return kDeadline;
  return std::chrono::microseconds(1 << hash / kScriptsAShortOne % kShortDeadlines);
}

class ScriptRunner {
 public:
  const QueryTables& tables() const { return tables_; }

  // Whether a statement of it was executed, within its time and memory.
  bool run(std::string_view script) {
    const auto statements = split_statements(script);
    if (!statements) {
      check_refusal(statements.error());
      return false;
    }
    time_ = time_of(script);
    bool executed = false;
    std::optional<Plan> before;
    for (size_t i = 0; i < std::min(statements->size(), kStatementsMax); ++i) {
      auto plan = prepared((*statements)[i]);
      if (!plan) continue;
      executed |= check((*statements)[i], *plan, before ? *before : *fixed_);
      before = std::move(plan);
    }
    return executed;
  }

 private:
  std::optional<Plan> prepared(std::string_view sql) {
    heap_.begin();
    QueryControl control;
    deadline_.begin(&control, time_);
    auto plan = prepare(sql, tables_.catalog(), tables_.rows(), {}, {}, &control);
    deadline_.end();
    check_heap();
    if (plan) return std::move(*plan);
    check_error(plan.error());
    return std::nullopt;
  }

  // Whether it had time and memory enough.
  bool check(std::string_view sql, const Plan& plan, const Plan& other) {
    const bool is_utf8 = base::is_valid_utf8(sql);
    const Outcome alone = run_batch(&one_thread_, {&plan}, is_utf8).front();
    auto again = prepared(sql);
    if (!again) return false;  // its time was over
    again->sql += ' ';         // another text: it is not the same run
    const auto outcomes = run_batch(&two_threads_, {&plan, &*again, &other}, is_utf8);
    const bool has_enough = !is_about_resources(alone);
    for (const Outcome& outcome : {outcomes[0], outcomes[1]}) {
      if (!has_enough || is_about_resources(outcome) || !is_function_of_tables(sql)) continue;
      expect_same(sql, alone, outcome);
    }
    return has_enough;
  }

  std::vector<Outcome> run_batch(Executor* executor, const std::vector<const Plan*>& plans,
                                 bool is_utf8) {
    heap_.begin();
    QueryControl control;
    deadline_.begin(&control, time_);
    std::vector<QueryRun> queries;
    for (const Plan* const plan : plans) queries.push_back({.plan = plan, .control = &control});
    std::vector<base::Result<QueryResult>> results(plans.size(), QueryResult());
    std::vector<size_t> delivered(plans.size());
    const StopFlag stop{false};
    executor->run_batch(queries, tables_.replica(), stop,
                        [&](size_t query, base::Result<QueryResult> result) {
                          results[query] = std::move(result);
                          ++delivered[query];
                        });
    deadline_.end();
    check_heap();
    std::vector<Outcome> outcomes;
    for (size_t i = 0; i < plans.size(); ++i) {
      DIPTYCH_CHECK(delivered[i] == 1, "each query is delivered once");
      outcomes.push_back(outcome_of(results[i], is_utf8));
    }
    results.clear();
    DIPTYCH_CHECK(executor->queries_memory_bytes() == 0, "what queries kept is given back");
    return outcomes;
  }

  static void expect_same(std::string_view sql, const Outcome& one, const Outcome& other) {
    const bool same = one.error.has_value() == other.error.has_value() &&
                      one.row_count == other.row_count && one.rows == other.rows;
    if (same) return;
    std::fprintf(stderr, "%.*s\n", static_cast<int>(sql.size()), sql.data());
    for (const Outcome* const outcome : {&one, &other}) {
      const std::string error = outcome->error ? outcome->error->to_string() : "";
      std::fprintf(stderr, "---- %zu rows %s\n", outcome->row_count, error.c_str());
      for (const std::string& row : outcome->rows) std::fprintf(stderr, "%s\n", row.c_str());
    }
    DIPTYCH_CHECK(same, "alone and in a batch a statement gives the same");
  }

  static void check_heap() {
    DIPTYCH_CHECK(HeapPeak::bytes() <= static_cast<int64_t>(kHeapBytesMax),
                  "a query keeps no more than its limit, and little besides");
  }

  static base::SidePlacement placement(uint32_t threads) {
    base::SidePlacement side;
    side.threads = threads;
    return side;
  }

  QueryTables tables_;
  Executor one_thread_{placement(1), kQueryBytesMax, kQueriesBytesMax};
  Executor two_threads_{placement(2), kQueryBytesMax, kQueriesBytesMax};
  HeapPeak heap_;
  Deadline deadline_;
  std::chrono::microseconds time_ = kDeadline;  // of each statement of the script
  // What runs beside a script's first statement.
  std::optional<Plan> fixed_ = prepared(kManyStatements[0]);
};

ScriptRunner& runner() {
  static ScriptRunner runner;
  return runner;
}

const SqlMutator& mutator() {
  static const SqlMutator mutator = [] {
    std::vector<std::string> statements = answered_statements();
    statements.insert(statements.end(), std::begin(kManyStatements), std::end(kManyStatements));
    return SqlMutator(statements, runner().tables().catalog());
  }();
  return mutator;
}

std::string_view view_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

size_t write_to(const std::string& text, uint8_t* to, size_t size_max) {
  const size_t size = std::min(text.size(), size_max);
  std::memcpy(to, text.data(), size);
  return size;
}

}  // namespace
}  // namespace diptych::olap::fuzz

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t size_max);

// One of 32 is a mutation of bytes.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t size_max,
                                          unsigned int seed) {
  using namespace diptych::olap::fuzz;
  if (seed % 32 == 0) return LLVMFuzzerMutate(data, size, size_max);
  return write_to(mutator().mutated(view_of(data, size), seed), data, size_max);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* one, size_t one_size,
                                            const uint8_t* other, size_t other_size, uint8_t* out,
                                            size_t out_size_max, unsigned int seed) {
  using namespace diptych::olap::fuzz;
  return write_to(mutator().crossed(view_of(one, one_size), view_of(other, other_size), seed), out,
                  out_size_max);
}

// A text of which nothing is executed to its end is not kept: others are made of those that are,
// and most of them end soon.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace diptych::olap::fuzz;
  return runner().run(view_of(data, size)) ? 0 : -1;
}
