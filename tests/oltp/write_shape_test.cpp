// Updates of subsets of columns that change from call to call: what they cost stays bounded, and
// what they write is right.

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {
namespace {

using base::Result;

// A form with optional fields. `code` is in an index of its own, `text` is a long string.
struct Form {
  int64_t id;
  int64_t code;
  base::Nullable<int64_t> c2;
  int64_t c3, c4, c5, c6, c7, c8, c9, c10, c11, c12;
  base::Text text;
};
BOOST_DESCRIBE_STRUCT(Form, (), (id, code, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, text))

constexpr int kNumbers = 10;  // c3 and on
constexpr int64_t kForms = 20;
// Subsets of columns that have records of their own, and what each call site and each combination
// of column groups adds.
constexpr size_t kShapesMax = 64 + 13 + 16;

class SubsetsOfColumns : public ::testing::TestWithParam<std::tuple<uint32_t, bool>> {
 protected:
  SubsetsOfColumns() {
    base::TableSchema schema = schema_of<Form>("form");
    schema.indexes = {
        index("form_pkey", base::IndexKind::kHash, base::Uniqueness::kUnique, {0}),
        index("form_code", base::IndexKind::kOrdered, base::Uniqueness::kNonUnique, {1})};
    if (std::get<bool>(GetParam())) {
      schema.column_groups = {{base::ColumnId(3), base::ColumnId(4), base::ColumnId(5)},
                              {base::ColumnId(6), base::ColumnId(7), base::ColumnId(8)},
                              {base::ColumnId(12), base::ColumnId(13)}};
    }
    EXPECT_TRUE(catalog_.add_table(std::move(schema)));
    EngineOptions options;
    options.placement.threads = std::get<uint32_t>(GetParam());
    options.batch_time_max_ns = 60'000'000'000;
    engine_ = std::make_unique<Engine>(&catalog_, options, &queue_);
    replica_ = std::make_unique<TextReplica>(&catalog_);
    table_ = *bind_table<Form>(catalog_, "form");
    by_id_ = *bind_index<&Form::id>(catalog_, "form_pkey");
    script_ = engine_->register_procedure(define_procedure<Script, Nothing>(
        "script", [](Transaction& txn, const Script& args) -> Result<Nothing> {
          auto done = (*args.body)(txn);
          if (!done) return done.error();
          return Nothing{};
        }));
    run_all({[&](Transaction& txn) -> Result<void> {
      for (int64_t id = 0; id < kForms; ++id) EXPECT_TRUE(txn.insert(table_, Form{.id = id}));
      return {};
    }});
  }

  using Body = std::function<Result<void>(Transaction&)>;
  void run_all(const std::vector<Body>& bodies) {
    std::vector<Script> scripts;
    for (const Body& body : bodies) scripts.push_back({&body});
    std::vector<Request> requests(bodies.size());
    std::vector<Request*> batch;
    for (size_t i = 0; i < bodies.size(); ++i) {
      requests[i].procedure = script_;
      requests[i].arguments = std::as_bytes(std::span(&scripts[i], 1));
      requests[i].random_seed = ++seed_;
      batch.push_back(&requests[i]);
    }
    while (!batch.empty()) batch = engine_->run_batch(batch).again;
    replica_->apply(&queue_);
    for (const Request& request : requests) {
      EXPECT_TRUE(request.outcome.ok() || request.outcome.code() == base::ErrorCode::kAborted);
    }
  }

  // Moves amounts among the numbers, whose sum stays 0, column by column: a subset by the random
  // number. So a row of another sum is of no version.
  static void move_amounts(Transaction& txn, const Claimed<Form, Form>& form) {
    const uint64_t chosen = txn.random();
    Form now = form.values;
    int64_t moved = 0;
    int64_t* const numbers = &now.c3;
    for (int i = 0; i < kNumbers - 1; ++i) {
      const auto amount = static_cast<int64_t>(chosen >> (16 + i) & 15);
      if ((chosen >> i & 1) == 0) continue;
      numbers[i] += amount;
      moved += amount;
    }
    now.c12 -= moved;
    if ((chosen >> 0 & 1) != 0) txn.update(form, set<&Form::c3>(now.c3));
    if ((chosen >> 1 & 1) != 0) txn.update(form, set<&Form::c4>(now.c4));
    if ((chosen >> 2 & 1) != 0) txn.update(form, set<&Form::c5>(now.c5));
    if ((chosen >> 9 & 1) != 0) txn.update(form, set<&Form::code>(moved), set<&Form::c2>(moved));
    if ((chosen >> 3 & 1) != 0) txn.update(form, set<&Form::c6>(now.c6));
    if ((chosen >> 10 & 1) != 0) {
      const std::string text(chosen >> 40 & 63, 'x');
      txn.update(form, set<&Form::text>({text}));
    }
    if ((chosen >> 4 & 1) != 0) txn.update(form, set<&Form::c7>(now.c7));
    if ((chosen >> 5 & 1) != 0) txn.update(form, set<&Form::c8>(now.c8));
    if ((chosen >> 11 & 1) != 0) txn.update(form, set<&Form::c12>(0), set<&Form::c3>(now.c3));
    if ((chosen >> 6 & 1) != 0) txn.update(form, set<&Form::c9>(now.c9));
    if ((chosen >> 7 & 1) != 0) txn.update(form, set<&Form::c10>(now.c10));
    if ((chosen >> 8 & 1) != 0) txn.update(form, set<&Form::c11>(now.c11));
    txn.update(form, set<&Form::c12>(now.c12));
  }
  static int64_t sum(const Form& form) {
    int64_t all = 0;
    for (int i = 0; i < kNumbers; ++i) all += (&form.c3)[i];
    return all;
  }

  // Claims one form and reads another, which somebody else may be at.
  Result<void> fill_in(Transaction& txn) {
    const uint64_t chosen = txn.random();
    auto other = txn.get(by_id_, static_cast<int64_t>(chosen / 64 % kForms));
    EXPECT_EQ(sum(*other), 0);
    auto form = txn.get_for_update(by_id_, static_cast<int64_t>(chosen % kForms));
    if (!form) return form.error();
    EXPECT_EQ(sum(form->values), 0);
    move_amounts(txn, *form);
    auto own = txn.get(by_id_, form->values.id);
    EXPECT_EQ(sum(*own), 0);
    if (chosen / 4096 % 3 == 0) return txn.abort("on second thoughts");
    return {};
  }

  void expect_replica_agrees() const {
    engine_->check_indexes();
    const base::RowLayout layout(catalog_.table(table_.table));
    TableText text;
    engine_->for_each_row(table_.table, [&](base::RowId row_id, const std::byte* row) {
      text[row_id.value] = text_of(layout, row);
      EXPECT_EQ(sum(*reinterpret_cast<const Form*>(row)), 0);
    });
    EXPECT_EQ(text, replica_->table(0));
  }

  struct Script {
    const Body* body;
  };
  base::Catalog catalog_;
  propagation::UpdateQueue queue_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<TextReplica> replica_;
  TableRef<Form> table_;
  IndexRef<&Form::id> by_id_;
  base::ProcedureId script_;
  uint64_t seed_ = 0;
};

TEST_P(SubsetsOfColumns, AreExportedInABoundedNumberOfShapesAndRight) {
  replica_->take_log();
  for (int batch = 0; batch < 20; ++batch) {
    run_all(std::vector<Body>(100, [&](Transaction& txn) { return fill_in(txn); }));
    ASSERT_NO_FATAL_FAILURE(expect_replica_agrees());
  }
  const std::vector<std::string> log = replica_->take_log();
  EXPECT_GT(log.size(), 1'000U);
  const std::set<std::string> shapes(log.begin(), log.end());
  EXPECT_LE(shapes.size(), kShapesMax * std::get<uint32_t>(GetParam()));
}

TEST_P(SubsetsOfColumns, OfOneRowInTurnsTakeNoMemoryATurn) {
  const size_t before = engine_->metrics().undo_bytes;
  run_all({[&](Transaction& txn) -> Result<void> {
    auto form = txn.get_for_update(by_id_, 7);
    for (int64_t i = 1; i <= 20'000; ++i) {
      txn.update(*form, set<&Form::c3>(i));
      txn.update(*form, set<&Form::c4>(-i));
      txn.update(*form, set<&Form::c2>(i));
      txn.update(*form, set<&Form::c3>(i), set<&Form::c4>(-i));
    }
    return {};
  }});
  EXPECT_LE(engine_->metrics().undo_bytes, before + 100'000);
  expect_replica_agrees();
}

INSTANTIATE_TEST_SUITE_P(Forms, SubsetsOfColumns,
                         ::testing::Combine(::testing::Values(1U, 2U), ::testing::Bool()));

}  // namespace
}  // namespace diptych::oltp::test
