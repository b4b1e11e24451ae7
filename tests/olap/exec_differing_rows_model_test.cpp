// What is done once for texts that come again: which rows differ in them, functions of them by
// entry, groups (by their codes, too), aggregates and joins by them, against a sequential model and
// the naive reference.

#include <map>

#include "olap/execution/expression/expression.h"
#include "olap/execution/group/coded_groups.h"
#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/limits/stop_signal.h"
#include "olap/execution/scan/leaf_columns.h"
#include "olap/execution/vector/differing_rows.h"
#include "tests/olap/exec_operator_model.h"

namespace diptych::olap::test {
namespace {

// A vector of random codes, some of them null or without a meaning.
struct CodedColumn {
  CodedColumn(uint32_t entry_count, bool has_nulls, std::mt19937_64* random)
      : entries(entry_count),
        codes(kVectorRows),
        values(kVectorRows),
        coded{codes.data(), entries.data(), entry_count} {
    for (uint32_t e = 0; e < entry_count; ++e) {
      entries[e] = base::StringRef(std::string_view("abcdefghijkl").substr(e % 12));
    }
    for (uint32_t i = 0; i < kVectorRows; ++i) {
      codes[i] = static_cast<uint32_t>((*random)() % entry_count);
      values[i] = entries[codes[i]];
      if (has_nulls && (*random)() % 5 == 0) set_bit(nulls, i);
    }
    vector = {.type = PhysicalType::kString,
              .values = values.data(),
              .nulls = has_nulls ? nulls : nullptr,
              .coded = &coded};
  }
  int64_t key(uint32_t slot) const { return vector.is_null(slot) ? -1 : int64_t{codes[slot]}; }

  std::vector<base::StringRef> entries;
  std::vector<uint32_t> codes;
  std::vector<base::StringRef> values;
  TextCodes coded;
  uint64_t nulls[kVectorWords] = {};
  Vector vector;
};

// Vectors of a few dictionaries, one after the other, as those of a table's blocks come.
TEST(CodedGroupsModel, AreThoseOfTheCombinationsOfCodes) {
  std::mt19937_64 random(11);
  uint64_t known = 0;
  uint64_t asked = 0;
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    CodedGroups groups;
    std::map<std::vector<int64_t>, uint32_t> expected;  // by dictionaries and codes
    const size_t columns_of_key = random() % 2 + 1;
    const auto entries = static_cast<uint32_t>(1 + random() % (columns_of_key == 1 ? 900 : 40));
    for (uint64_t block = 1; block <= 4; ++block) {
      for (int vector = 0; vector < 6; ++vector) {
        std::vector<CodedColumn> columns;
        columns.reserve(columns_of_key);
        std::vector<Vector> keys;
        for (size_t c = 0; c < columns_of_key; ++c) {
          columns.emplace_back(entries, random() % 2 == 0, &random);
          columns.back().coded.dictionary = block * 10 + c;
          keys.push_back(columns.back().vector);
          keys.back().coded = &columns.back().coded;
        }
        Selection rows;
        uint64_t bits[kVectorWords];
        for (uint64_t& word : bits) word = random() % 2 == 0 ? ~uint64_t{0} : random();
        select_bits(bits, 1 + static_cast<uint32_t>(random() % kVectorRows), &rows);
        std::vector<uint32_t> numbers(kVectorRows);
        ASSERT_TRUE(groups.find(keys, rows, numbers.data()));
        std::vector<uint32_t> learned;
        std::vector<uint32_t> of_rows;
        uint32_t unknown = 0;
        for (uint32_t k = 0; k < rows.count; ++k) {
          std::vector<int64_t> key = {static_cast<int64_t>(block)};
          for (const CodedColumn& column : columns) key.push_back(column.key(rows.row(k)));
          const auto [group, is_new] =
              expected.try_emplace(key, static_cast<uint32_t>(expected.size()));
          of_rows.push_back(group->second);
          const bool is_unknown =
              unknown < groups.unknown().count && groups.unknown().row(unknown) == rows.row(k);
          ASSERT_TRUE(is_unknown || !is_new) << "the group of a new combination is not known";
          if (is_unknown) {
            ++unknown;
            learned.push_back(group->second);
          }
        }
        ASSERT_EQ(unknown, groups.unknown().count);
        groups.learn(learned.data(), numbers.data());
        for (uint32_t k = 0; k < rows.count; ++k) ASSERT_EQ(numbers[k], of_rows[k]);
        known += rows.count - unknown;
        asked += rows.count;
      }
    }
  }
  EXPECT_GT(known, asked / 2);
}

TEST(CodedGroupsModel, AreNotLookedForWhereItCannotPay) {
  std::mt19937_64 random(12);
  Selection rows;
  select_all(kVectorRows, &rows);
  std::vector<uint32_t> numbers(kVectorRows);
  const auto finds = [&](CodedGroups* groups, uint32_t entries, uint64_t dictionary) {
    CodedColumn column(entries, false, &random);
    column.coded.dictionary = dictionary;
    column.vector.coded = &column.coded;
    if (!groups->find({&column.vector, 1}, rows, numbers.data())) return false;
    groups->learn(std::vector<uint32_t>(kVectorRows).data(), numbers.data());
    return true;
  };
  CodedGroups groups;
  EXPECT_FALSE(finds(&groups, 10, 0)) << "codes of this vector alone";
  EXPECT_FALSE(finds(&groups, 100'000, 1)) << "an array for too many";
  EXPECT_TRUE(finds(&groups, 10, 1));
  // Of dictionaries that do not come again, nothing is known.
  CodedGroups in_vain;
  uint64_t dictionary = 1;
  while (dictionary < 1000 && finds(&in_vain, 5000, dictionary)) ++dictionary;
  EXPECT_LT(dictionary, 100U);
  EXPECT_GT(dictionary, 10U);
}

// Of one text, NULL for some; it divides by zero for "l".
ExpressionPtr condition(uint64_t which) {
  const auto own = [] { return column(0, kTextType); };
  const auto letter = [](const char* pattern) { return literal(kTextType, text(pattern)); };
  const auto has = [&](const char* pattern) {
    return make(ExpressionKind::kLike, kBooleanType, own(), letter(pattern));
  };
  switch (which % 4) {
    case 0: return has("%c%l");
    case 1: return make(ExpressionKind::kIsNull, kBooleanType, own());
    case 2:
      return make(
          ExpressionKind::kOr, kBooleanType, has("%k%"),
          make(ExpressionKind::kLike, kBooleanType,
               make(ExpressionKind::kNullIf, kTextType, own(), letter("jkl")), letter("_k%")));
    default:
      return make(
          ExpressionKind::kLess, kBooleanType,
          make(ExpressionKind::kDivide, kIntType, literal(kIntType, number(12)),
               make(ExpressionKind::kSubtract, kIntType, call(Function::kLength, kIntType, own()),
                    literal(kIntType, number(1)))),
          literal(kIntType, number(3)));
  }
}

// Vectors of a few dictionaries, one after the other; the texts alone tell the same.
TEST(CodedConditionsModel, AreThoseOfTheTexts) {
  std::mt19937_64 random(13);
  const StopFlag never{false};
  const StopSignal stop(&never);
  MemoryBudget memory{MemoryLimits{}};
  const QueryLimits limits{&memory, &stop};
  uint64_t nulls_met = 0;
  for (uint64_t round = 0; round < 120; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const ExpressionPtr expression = condition(round);
    const NodePtr by_code = compile_expression(*expression, limits);
    const NodePtr by_text = compile_expression(*expression, limits);
    const bool divides = round % 4 == 3;
    const auto entries = static_cast<uint32_t>(1 + random() % (divides ? 11 : 3000));
    for (uint64_t vector = 0; vector < 12; ++vector) {
      CodedColumn texts(entries, random() % 2 == 0, &random);
      texts.coded.dictionary = round * 100 + vector / 5 + 1;
      texts.vector.coded = &texts.coded;
      if (entries > 100) texts.coded.entries = nullptr;
      Selection rows;
      uint64_t bits[kVectorWords];
      for (uint64_t& word : bits) word = random() % 2 == 0 ? ~uint64_t{0} : random();
      select_bits(bits, 1 + static_cast<uint32_t>(random() % kVectorRows), &rows);
      Batch batch;
      batch.columns = {texts.vector};
      batch.selection = &rows;
      TruthMask found;
      by_code->evaluate_truth(batch, rows, &found);
      batch.columns[0].coded = nullptr;
      TruthMask expected;
      by_text->evaluate_truth(batch, rows, &expected);
      for (uint32_t k = 0; k < rows.count; ++k) {
        const uint32_t slot = rows.row(k);
        const bool is_null = expected.has_nulls && bit_at(expected.is_null, slot);
        ASSERT_EQ(found.has_nulls && bit_at(found.is_null, slot), is_null) << "slot " << slot;
        if (is_null) {
          ++nulls_met;
          continue;
        }
        ASSERT_EQ(bit_at(found.is_true, slot), bit_at(expected.is_true, slot)) << "slot " << slot;
      }
    }
  }
  EXPECT_GT(nulls_met, 0U);
}

TEST(DifferingRowsModel, FirstRowsStandForTheOthers) {
  std::mt19937_64 random(7);
  DifferingRows differing;
  int found = 0;
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const uint32_t number_count = 1 + static_cast<uint32_t>(random() % 9);
    std::vector<CodedColumn> columns;
    columns.reserve(3);
    std::vector<Vector> vectors;
    for (uint64_t i = random() % 3 + 1; i != 0; --i) {
      columns.emplace_back(1 + static_cast<uint32_t>(random() % 12), random() % 2 == 0, &random);
      vectors.push_back(columns.back().vector);
    }
    Selection rows;
    uint64_t bits[kVectorWords];
    for (uint64_t& word : bits) word = random() % 3 == 0 ? ~uint64_t{0} : random();
    select_bits(bits, 1 + static_cast<uint32_t>(random() % kVectorRows), &rows);
    std::vector<uint32_t> numbers(kVectorRows);
    for (uint32_t& number : numbers) number = static_cast<uint32_t>(random() % number_count);
    const bool numbered = random() % 2 == 0;
    const uint32_t* const given = numbered ? numbers.data() : nullptr;

    std::map<std::vector<int64_t>, uint32_t> first_k;
    std::vector<uint32_t> expected_first;  // k
    std::vector<uint32_t> expected_place;  // by k
    std::map<std::vector<int64_t>, uint32_t> places;
    for (uint32_t k = 0; k < rows.count; ++k) {
      std::vector<int64_t> key = {numbered ? int64_t{numbers[k]} : 0};
      for (const CodedColumn& column : columns) key.push_back(column.key(rows.row(k)));
      const auto [at, is_new] = places.try_emplace(key, expected_first.size());
      if (is_new) expected_first.push_back(k);
      expected_place.push_back(at->second);
    }
    const bool finds = differing.find(given, number_count, vectors, rows);
    ASSERT_FALSE(finds && expected_first.size() > rows.count / 2);
    if (!finds) continue;
    ++found;
    ASSERT_EQ(differing.first_rows().count, expected_first.size());
    std::vector<uint32_t> values(expected_first.size());
    for (uint32_t j = 0; j < values.size(); ++j) {
      ASSERT_EQ(differing.first_rows().row(j), rows.row(expected_first[j]));
      values[j] = 1000 + j;
    }
    std::vector<uint32_t> spread(rows.count);
    differing.spread(values.data(), spread.data());
    for (uint32_t k = 0; k < rows.count; ++k) ASSERT_EQ(spread[k], 1000 + expected_place[k]);
    std::vector<uint32_t> gathered(expected_first.size());
    differing.gather(numbers.data(), gathered.data());
    for (uint32_t j = 0; j < gathered.size(); ++j) {
      ASSERT_EQ(gathered[j], numbers[expected_first[j]]);
    }
  }
  EXPECT_GT(found, 100);
}

TEST(DifferingRowsTest, WantsCodes) {
  std::mt19937_64 random(8);
  CodedColumn few(4, false, &random);
  CodedColumn many(1000, false, &random);
  Vector plain = few.vector;
  plain.coded = nullptr;
  Vector constant = plain;
  constant.constant = true;
  Selection all;
  select_all(kVectorRows, &all);
  DifferingRows differing;
  const auto finds = [&](std::vector<Vector> columns, uint32_t numbers = 1) {
    return differing.find(nullptr, numbers, columns, all);
  };
  EXPECT_TRUE(finds({few.vector}));
  EXPECT_TRUE(finds({few.vector, constant}));
  EXPECT_FALSE(finds({few.vector, plain}));
  EXPECT_FALSE(finds({constant})) << "the rows are one, which the caller knows";
  EXPECT_FALSE(finds({})) << "likewise";
  EXPECT_FALSE(finds({many.vector})) << "most rows differ";
}

class CodedTextsModel : public OperatorModel {
 protected:
  // Of the text column alone: some fail for some texts, which a CASE may keep from them.
  ExpressionPtr random_value() {
    ExpressionPtr own = column(3, kTextType);
    switch (below(8)) {
      case 0: return own;
      case 1: return call(Function::kUpper, kTextType, std::move(own));
      case 2:
        return call(Function::kSubstring, kTextType, std::move(own),
                    literal(kBigIntType, number(static_cast<int64_t>(below(28)))),
                    literal(kBigIntType, number(static_cast<int64_t>(below(5)))));
      case 3: {
        ExpressionPtr is_long = make(ExpressionKind::kLike, kBooleanType, column(3, kTextType),
                                     literal(kTextType, text("%text%")));
        return make(ExpressionKind::kCase, kTextType, std::move(is_long), std::move(own),
                    literal(kTextType, text("short")));
      }
      case 4:
        return make(ExpressionKind::kConcat, kTextType, std::move(own),
                    literal(kTextType, text("-suffix of a key")));
      case 5:
        return make(ExpressionKind::kCoalesce, kTextType, std::move(own),
                    literal(kTextType, text("no text")));
      case 6:
        return make(ExpressionKind::kConcat, kTextType, column(3, kTextType), column(3, kTextType));
      default: return call(Function::kLength, kIntType, std::move(own));
    }
  }
  // Divides by 0 for a text of 2 bytes.
  ExpressionPtr quotient() {
    return make(ExpressionKind::kDivide, kIntType, literal(kIntType, number(100)),
                make(ExpressionKind::kSubtract, kIntType,
                     call(Function::kLength, kIntType, column(3, kTextType)),
                     literal(kIntType, number(2))));
  }
};

TEST_P(CodedTextsModel, GroupsAndAggregatesAgree) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (int round = 0; round < 6; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    std::vector<ExpressionPtr> keys;
    for (uint64_t i = below(3); i != 0; --i) keys.push_back(random_value());
    if (below(4) == 0) keys.push_back(column(7, kBooleanType));
    std::vector<Aggregate> aggregates;
    aggregates.push_back(aggregate_of(AggregateKind::kCountAll, nullptr));
    for (uint64_t i = 1 + below(4); i != 0; --i) {
      static constexpr AggregateKind kKinds[] = {AggregateKind::kCountDistinct, AggregateKind::kMin,
                                                 AggregateKind::kMax, AggregateKind::kCount};
      aggregates.push_back(aggregate_of(kKinds[below(4)], random_value()));
    }
    expect_same(plan_of(aggregate(scan_of(static_cast<uint32_t>(below(3))), std::move(keys),
                                  std::move(aggregates))));
    if (HasFatalFailure()) return;
  }
}

TEST_P(CodedTextsModel, FiltersAgreeAndOnlySelectedRowsFail) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (int round = 0; round < 4; ++round) {
    const auto t = static_cast<uint32_t>(below(3));
    OperatorPtr rows = scan_of(t);
    rows->predicates.push_back(make(ExpressionKind::kNotEqual, kBooleanType,
                                    call(Function::kLength, kIntType, column(3, kTextType)),
                                    literal(kIntType, number(2))));
    ExpressionPtr above = make(ExpressionKind::kGreater, kBooleanType, quotient(),
                               literal(kIntType, number(static_cast<int64_t>(below(12)))));
    if (below(2) == 0) above = make(ExpressionKind::kNot, kBooleanType, std::move(above));
    expect_same(plan_of(filter(std::move(rows), std::move(above))));
    if (HasFatalFailure()) return;
  }
}

// What is NULL for a text that is, is so beside conditions on other columns.
TEST_P(CodedTextsModel, ConditionsMayBeNull) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (int round = 0; round < 4; ++round) {
    ExpressionPtr matches = make(ExpressionKind::kLike, kBooleanType,
                                 call(Function::kUpper, kTextType, column(3, kTextType)),
                                 literal(kTextType, text("%" + std::to_string(below(10)))));
    ExpressionPtr both = make(below(2) == 0 ? ExpressionKind::kAnd : ExpressionKind::kOr,
                              kBooleanType, std::move(matches),
                              make(ExpressionKind::kLess, kBooleanType, column(2, kBigIntType),
                                   literal(kBigIntType, number(static_cast<int64_t>(below(20))))));
    expect_same(plan_of(filter(scan_of(static_cast<uint32_t>(below(3))),
                               make(ExpressionKind::kNot, kBooleanType, std::move(both)))));
    if (HasFatalFailure()) return;
  }
}

// Keys that are functions of texts on one side, and texts with a NULL on both.
TEST_P(CodedTextsModel, JoinsAgree) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (uint32_t kind = 0; kind < 7; ++kind) {
    SCOPED_TRACE("kind " + std::to_string(kind));
    OperatorPtr op = join(static_cast<JoinKind>(kind), scan_of(static_cast<uint32_t>(below(2))),
                          scan_of(2), {{3, 3}});
    if (below(2) == 0) {
      op->probe_keys[0] = make(ExpressionKind::kCoalesce, kTextType, column(3, kTextType),
                               literal(kTextType, text("k4")));
    }
    expect_same(plan_of(std::move(op)));
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, CodedTextsModel,
                         ::testing::Range(uint64_t{1},
                                          uint64_t{diptych::test::kSanitized ? 9 : 25}));

// Else the models above compare one way with itself.
TEST(CodedTextsTest, ABlocksFewTextsComeWithCodes) {
  TestReplica replica(small_blocks(1));
  const base::TableId id = replica.add_table({kTextType});
  for (int64_t i = 0; i < 70'000; ++i) replica.insert(id, {text("text " + std::to_string(i % 9))});
  replica.compact(id);
  const storage::Leaf& leaf = replica.replica().table(id).partition(base::PartitionId(0)).leaf(0);
  LeafReader reader;
  reader.add({base::ColumnId(0)});
  MemoryBudget memory(MemoryLimits{});
  LeafColumns columns(&reader, {base::ColumnId(0)}, {kTextType}, &memory);
  reader.begin(leaf);
  reader.start(0, kVectorRows);
  columns.start();
  Selection all;
  select_all(kVectorRows, &all);
  columns.load(0, all);
  ASSERT_NE(columns.batch().columns[0].coded, nullptr);
  EXPECT_EQ(columns.batch().columns[0].coded->entry_count, 9U);
}

// Blocks of a table, whose dictionaries have the same codes for other texts. Column 1's are fewer.
TEST(CodedTextsTest, ABlocksCodesAreNotThoseOfTheNext) {
  constexpr int64_t kRows = 8 * 1024;
  TestReplica replica(storage::StorageOptions{.partitions = 1, .block_rows = 1024});
  const base::TableId id = replica.add_table({kTextType, kTextType});
  std::map<std::pair<std::string, std::string>, int64_t> expected;
  for (int64_t i = 0; i < kRows; ++i) {
    const std::string block = std::string(1, static_cast<char>('a' + i / 1024));
    const std::pair key{block + std::to_string(i % 97), block + std::to_string(i % 5)};
    replica.insert(id, {text(key.first), text(key.second)});
    ++expected[key];
  }
  replica.compact(id);
  const auto by = [&](std::vector<uint32_t> columns) {
    std::vector<ExpressionPtr> keys;
    for (const uint32_t c : columns) keys.push_back(column(c, kTextType));
    std::vector<Aggregate> aggregates;
    aggregates.push_back(aggregate_of(AggregateKind::kCountAll, nullptr));
    if (keys.empty()) {
      aggregates.push_back(aggregate_of(AggregateKind::kCountDistinct, column(0, kTextType)));
      aggregates.push_back(aggregate_of(AggregateKind::kMax, column(0, kTextType)));
    }
    const auto result = run(plan_of(aggregate(scan(id, {kTextType, kTextType}), std::move(keys),
                                              std::move(aggregates))),
                            replica.replica(), 2);
    EXPECT_TRUE(result.ok()) << result.error().to_string();
    return result.ok() ? std::vector<Row>(result->rows) : std::vector<Row>();
  };
  EXPECT_EQ(by({0}).size(), 8 * 97U);
  EXPECT_EQ(by({1}).size(), 8 * 5U);
  const std::vector<Row> groups = by({0, 1});
  EXPECT_EQ(groups.size(), expected.size());
  for (const Row& row : groups) {
    const std::pair key{std::get<std::string>(row[0]), std::get<std::string>(row[1])};
    EXPECT_EQ(std::get<int64_t>(row[2]), expected[key]) << key.first << ", " << key.second;
  }
  EXPECT_EQ(by({}), (std::vector<Row>{{number(kRows), number(8 * 97), text("h96")}}));
}

}  // namespace
}  // namespace diptych::olap::test
