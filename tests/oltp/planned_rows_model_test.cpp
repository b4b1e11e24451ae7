// Rows that an access plan has found are hints. Whatever plans name, and whatever has become of the
// rows since (erased, inserted again, under another key, rolled back), procedures see what a map
// sees.

#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {
namespace {

using base::ErrorCode;
using base::Result;

struct Seat {
  int64_t id;
  int64_t number;
  int64_t value;
};
BOOST_DESCRIBE_STRUCT(Seat, (), (id, number, value))

constexpr int64_t kKeys = 12;  // few, so that a row's life meets the plans that name it
constexpr size_t kSteps = 6;
constexpr size_t kPlanned = 10;
constexpr int64_t kOther = 1000;

enum class Action : uint8_t { kGet, kGetByNumber, kGetEach, kSet, kPut, kErase, kRenumber };
constexpr int kActions = 7;

struct Step {
  Action action;
  int64_t id;
  int64_t number;
};
struct Steps {
  std::array<Step, kSteps> steps;
  // Ids; from kOther on, of the other table; less than 0: -1 - number.
  std::array<int64_t, kPlanned> planned;
  bool aborts;
};
struct Seen {
  std::array<int64_t, kSteps> values;
};

constexpr int64_t kNothing = -1;

std::vector<std::tuple<int64_t>> ids_from(int64_t first) {
  std::vector<std::tuple<int64_t>> ids;
  for (int64_t i = 0; i < 40; ++i) ids.emplace_back((first + i * i) % kKeys);
  return ids;
}

// What the table is, in maps.
class Model {
 public:
  int64_t run(const Step& step) {
    const auto row = rows_.find(step.id);
    switch (step.action) {
      case Action::kGet: return row == rows_.end() ? kNothing : row->second.value;
      case Action::kGetByNumber: {
        const Seat* const found = find_number(step.number);
        return found == nullptr ? kNothing : found->id;
      }
      case Action::kGetEach: {
        int64_t sum = 0;
        for (const auto& [id] : ids_from(step.id)) {
          if (const auto at = rows_.find(id); at != rows_.end()) sum += at->second.value;
        }
        return sum;
      }
      case Action::kSet:
        if (row == rows_.end()) return kNothing;
        return row->second.value += step.number + 1;
      case Action::kPut:
        if (row != rows_.end() || find_number(step.number) != nullptr) return kNothing;
        rows_[step.id] = {step.id, step.number, step.id * 100};
        return 1;
      case Action::kErase: return rows_.erase(step.id) != 0 ? 1 : kNothing;
      case Action::kRenumber:
        if (row == rows_.end() || find_number(step.number) != nullptr) return kNothing;
        row->second.number = step.number;
        return 1;
    }
    return kNothing;
  }
  const std::map<int64_t, Seat>& rows() const { return rows_; }

 private:
  const Seat* find_number(int64_t number) const {
    for (const auto& [id, seat] : rows_) {
      if (seat.number == number) return &seat;
    }
    return nullptr;
  }
  std::map<int64_t, Seat> rows_;
};

struct Tables {
  TableRef<Seat> seat;
  IndexRef<&Seat::id> by_id;
  IndexRef<&Seat::number> by_number;
  // A table with rows of the same keys, which nobody reads.
  TableRef<Seat> other;
  IndexRef<&Seat::id> other_by_id;
};

base::TableSchema seats(const std::string& name, base::IndexKind kind) {
  base::TableSchema schema = schema_of<Seat>(name);
  schema.indexes = {index(name + "_pkey", kind, base::Uniqueness::kUnique, {0}),
                    index(name + "_number", kind, base::Uniqueness::kUnique, {1})};
  return schema;
}

// As Model::run.
Result<int64_t> run_step(Transaction& txn, const Tables& tables, const Step& step) {
  const auto is_there = [](const auto& read) { return read.ok(); };
  switch (step.action) {
    case Action::kGet: {
      auto value = txn.get<&Seat::value>(tables.by_id, step.id);
      return is_there(value) ? *value : kNothing;
    }
    case Action::kGetByNumber: {
      auto id = txn.get<&Seat::id>(tables.by_number, step.number);
      return is_there(id) ? *id : kNothing;
    }
    case Action::kGetEach: {
      int64_t sum = 0;
      auto read = txn.get_each<&Seat::value>(tables.by_id, ids_from(step.id),
                                             [&](size_t, int64_t value) { sum += value; });
      if (!read) return read.error();
      return sum;
    }
    case Action::kPut: {
      auto put = txn.insert(tables.seat, Seat{step.id, step.number, step.id * 100});
      if (put) return 1;
      if (put.code() == ErrorCode::kAlreadyExists) return kNothing;
      return put.error();
    }
    case Action::kSet:
    case Action::kErase:
    case Action::kRenumber: break;
  }
  if (step.action == Action::kRenumber && txn.get<&Seat::id>(tables.by_number, step.number)) {
    return kNothing;
  }
  auto seat = txn.get_for_update<&Seat::value>(tables.by_id, step.id);
  if (!seat) return kNothing;
  if (step.action == Action::kErase) {
    txn.erase(*seat);
    return 1;
  }
  if (step.action == Action::kRenumber) {
    txn.update(*seat, set<&Seat::number>(step.number));
    return 1;
  }
  const int64_t value = seat->values + step.number + 1;
  txn.update(*seat, set<&Seat::value>(value));
  return value;
}

using KindAndSeed = std::tuple<base::IndexKind, uint64_t>;

class PlannedRowsModel : public testing::TestWithParam<KindAndSeed> {
 protected:
  PlannedRowsModel() : random_(std::get<uint64_t>(GetParam())) {
    const auto kind = std::get<base::IndexKind>(GetParam());
    EXPECT_TRUE(catalog_.add_table(seats("seat", kind)));
    EXPECT_TRUE(catalog_.add_table(seats("other", kind)));
    EngineOptions options;
    options.export_updates = false;
    options.batch_time_max_ns = 10'000'000'000;
    engine_ = std::make_unique<Engine>(&catalog_, options, nullptr);
    tables_ = {*bind_table<Seat>(catalog_, "seat"), *bind_index<&Seat::id>(catalog_, "seat_pkey"),
               *bind_index<&Seat::number>(catalog_, "seat_number"),
               *bind_table<Seat>(catalog_, "other"),
               *bind_index<&Seat::id>(catalog_, "other_pkey")};
    fill_other();
    const auto body = [this](Transaction& txn, const Steps& input) -> Result<Seen> {
      Seen seen{};
      for (size_t i = 0; i < kSteps; ++i) {
        auto value = run_step(txn, tables_, input.steps[i]);
        if (!value) return value.error();
        seen.values[i] = *value;
      }
      seen_.push_back(seen);  // an aborted call's reply is lost
      if (input.aborts) return txn.abort("as asked");
      return seen;
    };
    const auto access = [this](const Steps& input, AccessPlan& plan) {
      const auto key = [](int64_t of) { return std::array{std::tuple(of)}; };
      for (const int64_t planned : input.planned) {
        if (planned >= kOther) {
          plan.each(tables_.other_by_id, key(planned - kOther));
        } else if (planned < 0) {
          plan.each<&Seat::id>(tables_.by_number, key(-1 - planned));
        } else {
          plan.each(tables_.by_id, key(planned));
        }
      }
    };
    procedure_ = engine_->register_procedure(
        define_procedure<Steps, Seen>("steps", body, {.access = access}));
  }

  void fill_other() {
    Request request;
    request.procedure = engine_->register_procedure(define_procedure<Nothing, Nothing>(
        "fill", [this](Transaction& txn, const Nothing&) -> Result<Nothing> {
          for (int64_t id = 0; id < kKeys; ++id) {
            if (auto put = txn.insert(tables_.other, Seat{id, id, -5000}); !put) return put.error();
          }
          return Nothing{};
        }));
    const Nothing nothing{};
    Nothing reply;
    request.arguments = std::as_bytes(std::span(&nothing, 1));
    request.reply = std::as_writable_bytes(std::span(&reply, 1));
    Request* batch[] = {&request};
    EXPECT_TRUE(engine_->run_batch(batch).again.empty());
    EXPECT_TRUE(request.outcome);
  }

  int64_t draw(int64_t end) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(end)); }

  // Plans that are right, in part or in whole, or that have nothing to do with what is done.
  Steps draw_steps() {
    Steps drawn{};
    size_t planned = 0;
    const bool follows = draw(3) != 0;
    for (Step& step : drawn.steps) {
      step = {static_cast<Action>(draw(kActions)), draw(kKeys), draw(kKeys)};
      const bool by_number = step.action == Action::kGetByNumber;
      if (follows) drawn.planned[planned++] = by_number ? -1 - step.number : step.id;
    }
    for (; planned < kPlanned; ++planned) drawn.planned[planned] = draw(2 * kKeys) - kKeys;
    if (draw(3) == 0) drawn.planned[static_cast<size_t>(draw(kSteps))] = kOther + draw(kKeys);
    drawn.aborts = draw(6) == 0;
    return drawn;
  }

  std::mt19937_64 random_;
  base::Catalog catalog_;
  std::unique_ptr<Engine> engine_;
  Tables tables_;
  base::ProcedureId procedure_;
  std::vector<Seen> seen_;
  Model model_;
};

TEST_P(PlannedRowsModel, SeeWhatAMapSees) {
  for (int round = 0; round < 150; ++round) {
    std::vector<Steps> calls(static_cast<size_t>(draw(30)) + 1);
    std::vector<Request> requests(calls.size());
    std::vector<Seen> replies(calls.size());
    std::vector<Request*> batch;
    for (size_t i = 0; i < calls.size(); ++i) {
      calls[i] = draw_steps();
      requests[i].procedure = procedure_;
      requests[i].arguments = std::as_bytes(std::span(&calls[i], 1));
      requests[i].reply = std::as_writable_bytes(std::span(&replies[i], 1));
      batch.push_back(&requests[i]);
    }
    seen_.clear();
    ASSERT_TRUE(engine_->run_batch(batch).again.empty());
    ASSERT_EQ(seen_.size(), calls.size());
    for (size_t i = 0; i < calls.size(); ++i) {
      const Model before = model_;
      for (size_t step = 0; step < kSteps; ++step) {
        ASSERT_EQ(seen_[i].values[step], model_.run(calls[i].steps[step]))
            << "seed " << std::get<uint64_t>(GetParam()) << ", round " << round << ", call " << i
            << ", step " << step;
      }
      if (calls[i].aborts) model_ = before;
      EXPECT_EQ(requests[i].outcome.ok(), !calls[i].aborts);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, PlannedRowsModel,
                         testing::Combine(testing::Values(base::IndexKind::kHash,
                                                          base::IndexKind::kOrdered),
                                          testing::Range<uint64_t>(1, 9)));

}  // namespace
}  // namespace diptych::oltp::test
