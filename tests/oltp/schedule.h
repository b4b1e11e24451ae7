// Schedule: transactions interleaved step by step, each on a worker of its own.
//
//   Schedule schedule(2);
//   schedule.begin(0).begin(1);
//   schedule.step(0, [&](Transaction& txn) { return write(txn, 1, 11); });
//   schedule.end(0).end(1);
//   const auto outcomes = schedule.run(&bank);
//
// The steps run in the order in which they were added, whosever they are; `begin` is when a
// transaction takes its snapshot, `end` when it commits, or rolls back after an error of one of its
// steps (those behind it are left out). A step does not wait for another transaction: a claim that
// cannot be had fails.
//
// The bank has at least as many workers as there are transactions, and retries no conflict. Each
// worker runs three requests: one that waits for the begin, the transaction, and one that tells
// that it ended.

#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {

class Schedule {
 public:
  using Step = std::function<base::Result<void>(Transaction&)>;

  explicit Schedule(size_t transactions) : transactions_(transactions) {}

  Schedule& begin(size_t transaction) { return add(transaction, Kind::kBegin, {}); }
  Schedule& step(size_t transaction, Step step) {
    return add(transaction, Kind::kStep, std::move(step));
  }
  Schedule& end(size_t transaction) { return add(transaction, Kind::kEnd, {}); }

  // [transaction]: how it ended. Once.
  std::vector<base::Result<void>> run(Bank* bank) {
    EXPECT_GE(bank->workers, transactions_);
    std::vector<Bank::Body> bodies(3 * size_t{bank->workers},
                                   [](Transaction&) -> base::Result<void> { return {}; });
    for (size_t i = 0; i < transactions_; ++i) {
      bodies[i] = [this, i](Transaction&) { return await_begin(i); };
      bodies[i + bank->workers] = [this, i](Transaction& txn) { return run_steps(i, txn); };
      bodies[i + 2 * bank->workers] = [this, i](Transaction&) { return tell_end(i); };
    }
    const auto calls = bank->run_all(bodies);
    std::vector<base::Result<void>> outcomes;
    for (size_t i = 0; i < transactions_; ++i) {
      outcomes.push_back(calls[bank->workers + i].outcome());
    }
    return outcomes;
  }

 private:
  enum class Kind : uint8_t { kBegin, kStep, kEnd };
  struct Entry {
    size_t transaction;
    Kind kind;
    Step step;
  };

  Schedule& add(size_t transaction, Kind kind, Step step) {
    entries_.push_back({transaction, kind, std::move(step)});
    return *this;
  }
  size_t position(size_t transaction, Kind kind) const {
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].transaction == transaction && entries_[i].kind == kind) return i;
    }
    ADD_FAILURE() << "each transaction begins and ends";
    return 0;
  }
  void await(size_t turn) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return turn_ == turn; });
  }
  void pass() {
    const std::lock_guard lock(mutex_);
    ++turn_;
    changed_.notify_all();
  }

  base::Result<void> await_begin(size_t transaction) {
    await(position(transaction, Kind::kBegin));
    return {};
  }
  base::Result<void> run_steps(size_t transaction, Transaction& txn) {
    pass();  // its snapshot is taken
    base::Result<void> outcome;
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].transaction != transaction || entries_[i].kind == Kind::kBegin) continue;
      await(i);
      if (entries_[i].kind == Kind::kEnd) return outcome;
      if (outcome) outcome = entries_[i].step(txn);
      pass();
    }
    return outcome;
  }
  base::Result<void> tell_end(size_t transaction) {
    await(position(transaction, Kind::kEnd));
    pass();
    return {};
  }

  size_t transactions_;
  std::vector<Entry> entries_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t turn_ = 0;  // guarded by mutex_
};

}  // namespace diptych::oltp::test
