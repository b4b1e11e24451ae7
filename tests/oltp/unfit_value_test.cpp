// Values that their columns cannot hold: no key and no row has them, and none is cut to another.

#include <array>
#include <atomic>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <gmock/gmock.h>

#include "base/int128.h"
#include "oltp/key_parts.h"
#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {
namespace {

using base::ErrorCode;
using base::Result;
using ::testing::HasSubstr;
using namespace std::string_view_literals;

struct Doc {
  int32_t id;
  base::Text head;
  base::Text body;
};
BOOST_DESCRIBE_STRUCT(Doc, (), (id, head, body))

struct Sum {
  int32_t id;
  base::Decimal<4, 2> small;
  base::Nullable<base::Decimal<18, 0>> large;
};
BOOST_DESCRIBE_STRUCT(Sum, (), (id, small, large))

// A table of one worker's engine, with a hash index on its first column, and one procedure.
template <class Row>
class OneTable {
 public:
  explicit OneTable(base::TableSchema schema = schema_of<Row>("one")) {
    schema.indexes = {index("one_pkey", base::IndexKind::kHash, base::Uniqueness::kUnique, {0})};
    EXPECT_TRUE(catalog_.add_table(std::move(schema)));
    EngineOptions options;
    options.placement.threads = 1;
    engine = std::make_unique<Engine>(&catalog_, options, &queue_);
    table = *bind_table<Row>(catalog_, "one");
    by_id = *bind_index<&Row::id>(catalog_, "one_pkey");
    script_ = engine->register_procedure(define_procedure<Script, Nothing>(
        "script", [](Transaction& txn, const Script& args) -> Result<Nothing> {
          (*args.body)(txn);
          return Nothing{};
        }));
  }

  Result<void> run(const std::function<void(Transaction&)>& body) {
    const Script script{&body};
    Request request;
    request.procedure = script_;
    request.arguments = std::as_bytes(std::span(&script, 1));
    Request* batch[] = {&request};
    engine->run_batch(batch);
    return request.outcome;
  }
  Result<void> insert(const Row& row) {
    return run([&](Transaction& txn) { static_cast<void>(txn.insert(table, row).ok()); });
  }
  Result<base::Vid> load(const Row& row) {
    bool given = false;
    return engine->load(
        table.table,
        [&]() -> Result<RowBatch> {
          if (std::exchange(given, true)) return RowBatch{};
          return RowBatch{reinterpret_cast<const std::byte*>(&row), 1};
        },
        nullptr);
  }

 private:
  struct Script {
    const std::function<void(Transaction&)>* body;
  };
  base::Catalog catalog_;
  propagation::UpdateQueue queue_;
  base::ProcedureId script_;

 public:
  std::unique_ptr<Engine> engine;
  TableRef<Row> table;
  IndexRef<&Row::id> by_id;
};

TEST(KeyParts, HoldWhatTheirColumnHoldsAndNothingElse) {
  const auto fits = []<class Part>(Part, auto value) {
    bool fit = true;
    static_cast<void>(detail::as_part<Part>(value, &fit));
    return fit;
  };
  constexpr int64_t kIntMax = std::numeric_limits<int32_t>::max();
  constexpr int64_t kIntMin = std::numeric_limits<int32_t>::min();
  EXPECT_TRUE(fits(int32_t{}, kIntMax));
  EXPECT_FALSE(fits(int32_t{}, kIntMax + 1));
  EXPECT_TRUE(fits(int32_t{}, kIntMin));
  EXPECT_FALSE(fits(int32_t{}, kIntMin - 1));
  EXPECT_TRUE(fits(int32_t{}, uint32_t{7}));
  EXPECT_FALSE(fits(int32_t{}, ~uint32_t{0}));
  EXPECT_TRUE(fits(int64_t{}, ~uint32_t{0}));
  EXPECT_FALSE(fits(int64_t{}, ~uint64_t{0}));
  EXPECT_TRUE(fits(base::Nullable<int32_t>{}, 7LL));
  EXPECT_FALSE(fits(base::Nullable<int32_t>{}, kIntMax + 1));
  EXPECT_FALSE(fits(base::Decimal<4, 0>{}, ~uint64_t{0}));
  EXPECT_TRUE(fits(double{}, 7));
  constexpr int64_t kDoubleExact = int64_t{1} << 53;
  EXPECT_TRUE(fits(double{}, kDoubleExact));
  EXPECT_FALSE(fits(double{}, kDoubleExact + 1));
  EXPECT_TRUE(fits(double{}, std::numeric_limits<int64_t>::min()));
  EXPECT_FALSE(fits(double{}, std::numeric_limits<int64_t>::max()));
  EXPECT_FALSE(fits(double{}, ~uint64_t{0}));
  EXPECT_TRUE(fits(double{}, 0.1));
  EXPECT_TRUE(fits(double{}, 0.1F));
  EXPECT_FALSE(fits(double{}, 0.1L));
  EXPECT_FALSE(fits(base::Nullable<double>{}, kDoubleExact + 1));
}

// What C++ would convert by a cast, or with a loss.
static_assert(!detail::kStandsFor<int64_t, const char*>);
static_assert(!detail::kStandsFor<int64_t, char[2]>);
static_assert(!detail::kStandsFor<int64_t, std::nullptr_t>);
static_assert(!detail::kStandsFor<base::Text, std::nullptr_t>);
static_assert(!detail::kStandsFor<int64_t, base::int128_t>);
static_assert(!detail::kStandsFor<int32_t, std::atomic<int64_t>>);
static_assert(detail::kStandsFor<int64_t, std::atomic<int64_t>>);
static_assert(!detail::kStandsFor<bool, char[6]>);
static_assert(!detail::kStandsFor<bool, void*>);
static_assert(detail::kStandsFor<bool, std::true_type>);
static_assert(!detail::kStandsFor<base::Decimal<8, 2>, base::Decimal<8, 3>>);
static_assert(detail::kStandsFor<base::Varchar<8>, char[2]>);
static_assert(detail::kStandsFor<base::Char<8>, std::string>);
static_assert(detail::kStandsFor<base::Text, std::string_view>);

// That a column can be set from a value of the type.
template <auto Member, class Value>
concept SetFrom = requires(const Value& value) { set<Member>(value); };

static_assert(SetFrom<&Account::branch, int32_t> && SetFrom<&Account::branch, uint16_t>);
static_assert(!SetFrom<&Account::branch, int64_t> && !SetFrom<&Account::branch, uint32_t>);
static_assert(!SetFrom<&Account::branch, double> && !SetFrom<&Account::branch, base::int128_t>);
static_assert(SetFrom<&Account::balance, int32_t> && SetFrom<&Account::balance, uint32_t>);
static_assert(!SetFrom<&Account::balance, uint64_t> && !SetFrom<&Account::balance, float>);
static_assert(SetFrom<&Entry::amount, int32_t> && !SetFrom<&Entry::amount, double>);
static_assert(SetFrom<&Entry::amount, base::Nullable<int64_t>>);
static_assert(SetFrom<&Account::name, const char*> && SetFrom<&Account::note, std::string_view>);

struct Reading {
  double value;
  bool is_final;
};
BOOST_DESCRIBE_STRUCT(Reading, (), (value, is_final))

static_assert(SetFrom<&Reading::value, int32_t> && SetFrom<&Reading::value, float>);
static_assert(!SetFrom<&Reading::value, int64_t> && !SetFrom<&Reading::value, long double>);
static_assert(SetFrom<&Reading::is_final, bool>);
static_assert(!SetFrom<&Reading::is_final, int32_t> && !SetFrom<&Reading::is_final, const char*>);

enum class Colour : uint8_t { kRed, kBlue };
struct Mixed {
  int32_t id;
  float share;
  Colour colour;
  std::array<int32_t, 3> numbers;
};
BOOST_DESCRIBE_STRUCT(Mixed, (), (id, share, colour, numbers))
struct HalfCell {
  base::Nullable<float> share;
};
BOOST_DESCRIBE_STRUCT(HalfCell, (), (share))
struct TextList {
  std::array<base::Text, 2> texts;
};
BOOST_DESCRIBE_STRUCT(TextList, (), (texts))

static_assert(base::consists_of_cells<Account>() && !base::consists_of_cells<Mixed>());
static_assert(!base::consists_of_cells<HalfCell>() && !base::consists_of_cells<Nothing>());
static_assert(detail::points_elsewhere<TextList>() && !detail::points_elsewhere<Mixed>());

TEST(ProcedureStructs, MayHaveMembersThatAreNoCells) {
  const ProcedureDefinition mixed = define_procedure<Mixed, Mixed>(
      "mixed", [](Transaction&, const Mixed& given) -> Result<Mixed> { return given; });
  EXPECT_EQ(mixed.argument_bytes, sizeof(Mixed));
  EXPECT_TRUE(mixed.argument_columns.empty());
  EXPECT_TRUE(mixed.reply_columns.empty());
}

TEST(KeyParts, AnEnumeratorIsTheIntegerThatItsTypeHas) {
  enum class Wide : int64_t { kOne = 1, kBeyondInt = int64_t{1} << 32 };
  enum Plain : uint8_t { kTwo = 2 };
  bool fit = true;
  EXPECT_EQ(detail::as_part<int32_t>(Wide::kOne, &fit), 1);
  EXPECT_EQ(detail::as_part<int64_t>(Wide::kBeyondInt, &fit), int64_t{1} << 32);
  EXPECT_EQ(detail::as_part<base::Nullable<int32_t>>(kTwo, &fit).value, 2);
  EXPECT_TRUE(fit);
  static_cast<void>(detail::as_part<int32_t>(Wide::kBeyondInt, &fit));
  EXPECT_FALSE(fit);
}

TEST(UnfitKey, FindsNothingAndIsReportedByAScan) {
  for (const uint32_t workers : {1U, 2U}) {
    Bank bank(workers);
    ASSERT_TRUE(bank.put(-1, 7, "a", 42));
    ASSERT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
      EXPECT_TRUE(txn.insert(bank.entry, Entry{1, 1, 10}));
      EXPECT_EQ(txn.get(bank.entry_pkey, 1, (int64_t{1} << 32) + 1).code(), ErrorCode::kNotFound);
      EXPECT_EQ(txn.get(bank.account_pkey, ~uint64_t{0}).code(), ErrorCode::kNotFound);
      AccessPlan plan = txn.make_plan();
      plan.row(bank.account_pkey, ~uint64_t{0});
      plan.range(bank.account_balance, 5, (int64_t{1} << 32) + 7);
      plan.fetch_rows();
      EXPECT_TRUE(txn.get(bank.account_pkey, -1));
      EXPECT_TRUE(txn.get(bank.account_pkey, -1L));
      return {};
    }));
    const auto outcome = bank.run([&](Transaction& txn) -> Result<void> {
      const KeyRange range = prefix(bank.account_branch, (int64_t{1} << 32) + 7);
      auto met = txn.scan(bank.account_branch, range, {},
                          [](const RowHandle&, const Account&) { return ScanStep::kContinue; });
      EXPECT_FALSE(met.ok());
      return {};
    });
    EXPECT_EQ(outcome.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(outcome.error().message, HasSubstr("does not fit its column"));
  }
}

TEST(UnfitKey, OfANarrowColumnIsNotCutWhereTheWayToTheRowIsCompiled) {
  OneTable<Sum> sums;
  ASSERT_TRUE(sums.insert({7, {1}, {}}));
  ASSERT_TRUE(sums.run([&](Transaction& txn) {
    EXPECT_TRUE(txn.get(sums.by_id, int64_t{7}));
    EXPECT_EQ(txn.get(sums.by_id, (int64_t{1} << 32) + 7).code(), ErrorCode::kNotFound);
    EXPECT_EQ(txn.get_for_update(sums.by_id, (int64_t{1} << 32) + 7).code(), ErrorCode::kNotFound);
  }));
}

TEST(UnfitDecimal, IsRefusedAndEndsTheTransaction) {
  OneTable<Sum> sums;
  constexpr int64_t kLarge = 999'999'999'999'999'999;
  ASSERT_TRUE(sums.insert({1, {9'999}, {{kLarge}}}));
  ASSERT_TRUE(sums.insert({2, {-9'999}, {{-kLarge}}}));
  base::Nullable<base::Decimal<18, 0>> null;
  null.value = {kLarge + 1};
  ASSERT_TRUE(sums.insert({3, {0}, null}));
  const auto expect_unfit = [&](const auto& outcome, std::string_view what) {
    EXPECT_EQ(outcome.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(outcome.error().message, HasSubstr(what));
    EXPECT_EQ(sums.engine->row_count(sums.table.table), 3U);
  };
  for (const int64_t units :
       {int64_t{10'000}, int64_t{-10'000}, std::numeric_limits<int64_t>::max(),
        std::numeric_limits<int64_t>::min()}) {
    constexpr std::string_view kWhat = "small: the number has more digits than its DECIMAL(4,2)";
    expect_unfit(sums.insert({4, {units}, {}}), kWhat);
    expect_unfit(sums.load({4, {units}, {}}), kWhat);
    expect_unfit(sums.run([&](Transaction& txn) {
      auto row = txn.get_for_update(sums.by_id, 1);
      txn.update(*row, set<&Sum::large>(null), set<&Sum::small>({units}));
    }),
                 kWhat);
  }
  for (const int64_t units : {kLarge + 1, -kLarge - 1}) {
    constexpr std::string_view kWhat = "large: the number has more digits than its DECIMAL(18,0)";
    expect_unfit(sums.insert({4, {0}, {{units}}}), kWhat);
    expect_unfit(sums.load({4, {0}, {{units}}}), kWhat);
    expect_unfit(sums.run([&](Transaction& txn) {
      auto row = txn.get_for_update(sums.by_id, 1);
      txn.update(*row, set<&Sum::small>({1}), set<&Sum::large>({{units}}));
    }),
                 kWhat);
  }
  ASSERT_TRUE(sums.run([&](Transaction& txn) {
    auto row = txn.get(sums.by_id, 1);
    EXPECT_EQ(row->small.units, 9'999);
    EXPECT_EQ(row->large.value.units, kLarge);
  }));
  EXPECT_FALSE(sums.run([&](Transaction& txn) {
    EXPECT_FALSE(txn.insert(TableRef<Sum>{}, Sum{4, {10'000}, {}}).ok());
  }));
}

// Nobody reads the bytes of a string that is refused: there are fewer than it says.
TEST(UnfitText, RowsOfMoreBytesThanARecordHasAreRefused) {
  constexpr std::string_view kWord = "a word";
  const std::string_view half(kWord.data(), size_t{2'200} << 20);
  const std::string_view all(kWord.data(), (size_t{1} << 32) + kWord.size());
  OneTable<Doc> docs;
  ASSERT_TRUE(docs.insert({1, kWord, kWord}));
  const auto expect_unfit = [&](const auto& outcome) {
    EXPECT_EQ(outcome.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(outcome.error().message, HasSubstr("the long strings of a row"));
    EXPECT_EQ(docs.engine->row_count(docs.table.table), 1U);
  };
  expect_unfit(docs.insert({2, half, half}));
  expect_unfit(docs.load({2, half, half}));
  expect_unfit(docs.insert({2, all, ""sv}));
  expect_unfit(docs.run([&](Transaction& txn) {
    auto row = txn.get_for_update(docs.by_id, 1);
    txn.update(*row, set<&Doc::head>({half}), set<&Doc::body>({half}));
  }));
  expect_unfit(docs.run([&](Transaction& txn) {
    auto row = txn.get_for_update(docs.by_id, 1);
    txn.update(*row, set<&Doc::head>({all}));
  }));
  ASSERT_TRUE(docs.run([&](Transaction& txn) {
    EXPECT_EQ(txn.get(docs.by_id, 1)->head.view(), kWord);
    EXPECT_EQ(txn.get(docs.by_id, 1)->body.view(), kWord);
  }));
}

// One record may have the strings of all groups, which are written apart.
TEST(UnfitText, AColumnGroupHasItsShareOfARecord) {
  base::TableSchema schema = schema_of<Doc>("one");
  schema.column_groups = {{base::ColumnId(2)}};
  OneTable<Doc> docs(std::move(schema));
  const std::string_view half("", size_t{2'200} << 20);
  EXPECT_EQ(docs.insert({1, half, ""sv}).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(docs.insert({1, ""sv, half}).code(), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(docs.insert({1, "a"sv, "b"sv}));
}

}  // namespace
}  // namespace diptych::oltp::test
