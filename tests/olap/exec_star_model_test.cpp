// Star queries: random ones over a random fact table and its dimensions, a whole batch at once
// against the naive reference one by one; and the parts that a pass is made of, against loops.

#include <random>

#include <gtest/gtest.h>

#include "olap/execution/key/dense_keys.h"
#include "olap/execution/pattern/like_pattern.h"
#include "olap/execution/star/star_query.h"
#include "olap/execution/star/value_classes.h"
#include "tests/olap/exec_model_table.h"
#include "tests/olap/exec_naive.h"
#include "tests/sanitizers.h"

namespace diptych::olap::test {
namespace {

// fact:   0 key of `place` (INT), 1 and 2 key of `order` (INT, BIGINT), 3 date, 4 amount, 5 text
// order:  0 and 1 key, 2 key of `place`, 3 text
// place:  0 key, 1 number, 2 text
const std::vector<DataType> kFactTypes = {
    kIntType, kIntType, kBigIntType, kDateType, decimal_type(18, 2), kTextType};
const std::vector<DataType> kOrderTypes = {kIntType, kBigIntType, kIntType, kTextType};
const std::vector<DataType> kPlaceTypes = {kIntType, kBigIntType, kTextType};

bool is_star(const Plan& plan, const TestReplica& replica) {
  StarKeys keys(replica.replica());
  return star_query(plan, &keys).has_value();
}

class StarModel : public ::testing::TestWithParam<uint64_t> {
 protected:
  StarModel() : random_(GetParam()), replica_(small_blocks(1 + GetParam() % 2)) {
    // Dimensions of a third have blocks, too.
    const uint64_t more = below(3) == 0 ? 40 : 1;
    const uint64_t places = 1 + below(more * 60);
    const uint64_t orders = 1 + below(more * 40);
    words_ = below(4) == 0 ? 1 : 8;
    place_ = fill_places(places);
    order_ = fill_orders(orders, places);
    fact_ = fill_facts(below(4) == 0 ? below(1000) : 1200 + below(2400), orders, places);
  }

  base::TableId fill_places(uint64_t places) {
    const ModelRows rows{.count = places,
                         .row =
                             [&](uint64_t i) {
                               return Row{number(static_cast<int64_t>(i) - 5), small(), word()};
                             },
                         .updated = {1, 2},
                         .value = [&](uint16_t c) { return c == 1 ? small() : word(); }};
    return fill(kPlaceTypes, {0}, rows);
  }
  base::TableId fill_orders(uint64_t orders, uint64_t places) {
    ModelRows rows{.count = 3 * orders, .updated = {2, 3}};
    rows.value = [&](uint16_t c) { return c == 2 ? number(within(places) - 5) : word(); };
    rows.row = [&](uint64_t i) {
      return Row{number(static_cast<int64_t>(i / 3)), number(static_cast<int64_t>(i % 3) + 7),
                 rows.value(2), rows.value(3)};
    };
    return fill(kOrderTypes, {0, 1}, rows);
  }
  base::TableId fill_facts(uint64_t facts, uint64_t orders, uint64_t places) {
    // Of the large ones, a vector's do not add in 64 bits.
    const int64_t unit = below(2) == 0 ? 1 : 1'000'000'000'000;
    ModelRows rows{.count = facts, .updated = {0, 1, 2, 3, 4, 5}};
    rows.value = [&](uint16_t c) -> Value {
      switch (c) {
        case 0: return maybe(number(within(places) - 5));
        case 1: return number(within(orders));
        case 2: return maybe(number(within(4) + 6));
        case 3: return maybe(base::Date{static_cast<int>(below(7))});
        case 4: return maybe(decimal((static_cast<int64_t>(below(100000)) - 500) * unit, 2));
        default: return word();
      }
    };
    rows.row = [&](uint64_t i) {
      Row row;
      for (uint16_t c = 0; c < kFactTypes.size(); ++c) row.push_back(rows.value(c));
      if (!base::is_null(row[3])) row[3] = base::Date{static_cast<int>(i / 400)};
      return row;
    };
    return fill(kFactTypes, {}, rows);
  }

  uint64_t below(uint64_t bound) { return random_() % bound; }
  // Of [0, bound), and now and then beyond: a key that finds nothing.
  int64_t within(uint64_t bound) { return static_cast<int64_t>(below(bound + 1)); }
  Value maybe(Value value) { return below(9) == 0 ? kNull : value; }
  Value small() { return maybe(number(static_cast<int64_t>(below(12)))); }
  Value word() {
    static constexpr const char* kWords[] = {
        "", "a", "ab", "abc", "b", "ba", "long enough a text", "a long one that is apart"};
    return maybe(text(kWords[below(words_)]));
  }

  base::TableId fill(const std::vector<DataType>& types, const std::vector<uint16_t>& unique,
                     const ModelRows& rows) {
    const base::TableId id = replica_.add_table(types, unique);
    tables_.push_back(ModelTable(&replica_, id, rows, &random_).live());
    return id;
  }

  ExpressionPtr text_predicate(uint32_t c) {
    static constexpr const char* kPatterns[] = {"a%", "b%", "ab%", "lo%", "%a", "a", "abc%", "%"};
    ExpressionPtr like = make(ExpressionKind::kLike, kBooleanType, column(c, kTextType),
                              literal(kTextType, text(kPatterns[below(8)])));
    if (below(3) == 0) return make(ExpressionKind::kNot, kBooleanType, std::move(like));
    return like;
  }
  ExpressionPtr comparison(uint32_t c, DataType type, Value value) {
    static constexpr ExpressionKind kKinds[] = {
        ExpressionKind::kEqual,   ExpressionKind::kLess,         ExpressionKind::kLessEqual,
        ExpressionKind::kGreater, ExpressionKind::kGreaterEqual, ExpressionKind::kNotEqual};
    ExpressionPtr l = column(c, type);
    ExpressionPtr r = literal(type, std::move(value));
    if (below(2) == 0) std::swap(l, r);
    return make(kKinds[below(6)], kBooleanType, std::move(l), std::move(r));
  }

  OperatorPtr place_scan() {
    OperatorPtr op = scan(place_, kPlaceTypes);
    for (uint64_t i = below(3); i != 0; --i) {
      op->predicates.push_back(
          below(2) == 0 ? text_predicate(2)
                        : comparison(1, kBigIntType, number(static_cast<int64_t>(below(12)))));
    }
    return op;
  }
  OperatorPtr order_scan() {
    OperatorPtr op = scan(order_, kOrderTypes);
    if (below(2) == 0) op->predicates.push_back(text_predicate(3));
    if (below(3) == 0) {
      op->predicates.push_back(comparison(0, kIntType, number(static_cast<int64_t>(below(40)))));
    }
    return op;
  }
  OperatorPtr fact_scan() {
    OperatorPtr op = scan(fact_, kFactTypes);
    for (uint64_t i = below(3); i != 0; --i) {
      switch (below(3)) {
        case 0: op->predicates.push_back(text_predicate(5)); break;
        case 1:
          op->predicates.push_back(comparison(3, kDateType, base::Date{int(below(16))}));
          break;
        default:
          op->predicates.push_back(
              comparison(4, kFactTypes[4], decimal(static_cast<int64_t>(below(100000)) - 500, 2)));
      }
    }
    return op;
  }

  // Fact columns first where the fact is the probe side, else behind the other's.
  OperatorPtr either_way(OperatorPtr fact, OperatorPtr other,
                         const std::vector<std::pair<uint32_t, uint32_t>>& keys,
                         uint32_t* fact_begin) {
    if (below(2) == 0) return join(JoinKind::kInner, std::move(fact), std::move(other), keys);
    std::vector<std::pair<uint32_t, uint32_t>> mirrored;
    for (const auto& [f, o] : keys) mirrored.emplace_back(o, f);
    *fact_begin += static_cast<uint32_t>(other->output.size());
    return join(JoinKind::kInner, std::move(other), std::move(fact), std::move(mirrored));
  }

  Plan random_star() {
    OperatorPtr op = fact_scan();
    uint32_t fact = 0;  // where the fact's columns begin in the output
    if (below(2) == 0) op = either_way(std::move(op), place_scan(), {{fact, 0}}, &fact);
    if (below(2) == 0) {
      OperatorPtr orders = order_scan();
      uint32_t order = 0;
      if (below(2) == 0) {
        orders = either_way(std::move(orders), place_scan(), {{2, 0}}, &order);
      }
      op = either_way(std::move(op), std::move(orders), {{fact + 1, order}, {fact + 2, order + 1}},
                      &fact);
    }
    std::vector<Aggregate> aggregates;
    aggregates.push_back(aggregate_of(AggregateKind::kCountAll, nullptr));
    if (below(2) == 0) {
      aggregates.push_back(aggregate_of(AggregateKind::kCount, column(fact + 3, kDateType)));
    }
    if (below(2) == 0) {
      aggregates.push_back(aggregate_of(AggregateKind::kSum, column(fact + 4, kFactTypes[4])));
    }
    if (below(2) == 0) {
      // Many other queries have the same argument, or a few, or none.
      const bool is_usual = below(2) == 0;
      ExpressionPtr more = make(ExpressionKind::kAdd, kBigIntType, column(fact + 2, kBigIntType),
                                literal(kBigIntType, number(is_usual ? 1 : within(60))));
      aggregates.push_back(aggregate_of(below(4) == 0 ? AggregateKind::kCount : AggregateKind::kSum,
                                        std::move(more)));
    }
    std::vector<ExpressionPtr> keys;
    if (below(2) == 0) {
      add_aggregates(fact, &aggregates);
      // Few different GROUP BYs, of any tables' columns.
      for (uint64_t i = below(3); i != 0; --i) keys.push_back(random_key(op->output));
    }
    OperatorPtr groups = aggregate(std::move(op), std::move(keys), std::move(aggregates));
    if (below(3) != 0) return plan_of(std::move(groups));
    const auto count = static_cast<uint32_t>(groups->expressions.size());
    return plan_of(filter(std::move(groups),
                          make(ExpressionKind::kGreater, kBooleanType, column(count, kBigIntType),
                               literal(kBigIntType, number(2)))));
  }

  // Those that only groups have.
  void add_aggregates(uint32_t fact, std::vector<Aggregate>* aggregates) {
    if (below(2) == 0) {
      aggregates->push_back(aggregate_of(AggregateKind::kAvg, column(fact + 4, kFactTypes[4])));
    }
    for (const AggregateKind kind : {AggregateKind::kMin, AggregateKind::kMax}) {
      if (below(2) == 0) continue;
      const auto c = static_cast<uint32_t>(below(kFactTypes.size()));
      aggregates->push_back(aggregate_of(kind, column(fact + c, kFactTypes[c])));
    }
  }
  ExpressionPtr random_key(const std::vector<DataType>& types) {
    const auto c = static_cast<uint32_t>(below(types.size()));
    ExpressionPtr key = column(c, types[c]);
    if (types[c].kind == TypeKind::kBigInt && below(2) == 0) {
      return make(ExpressionKind::kModulo, kBigIntType, std::move(key),
                  literal(kBigIntType, number(3)));
    }
    if (types[c].is_string() && below(2) == 0) {
      return call(Function::kLength, kIntType, std::move(key));
    }
    return key;
  }

  std::mt19937_64 random_;
  uint64_t words_ = 8;
  TestReplica replica_;
  NaiveTables tables_;
  base::TableId place_, order_, fact_;
};

TEST_P(StarModel, ABatchAnswersAsItsQueriesDo) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  std::vector<Plan> plans;
  const uint64_t most = below(4) == 0 ? 400 : 100;
  for (uint64_t i = 2 + below(most); i != 0; --i) plans.push_back(random_star());
  std::vector<const Plan*> batch;
  for (const Plan& plan : plans) {
    ASSERT_TRUE(is_star(plan, replica_));
    batch.push_back(&plan);
  }
  std::vector<std::vector<std::string>> expected;
  for (const Plan& plan : plans) expected.push_back(lines(naive_execute(*plan.root, tables_)));
  for (const uint32_t threads : {1, 3}) {
    Executor executor(placement(threads));
    const StopFlag stop{false};
    const auto results = executor.run_batch(batch, replica_.replica(), stop);
    for (size_t i = 0; i < plans.size(); ++i) {
      ASSERT_TRUE(results[i].ok()) << results[i].error().to_string();
      ASSERT_EQ(lines(results[i]->rows), expected[i])
          << "query " << i << ", " << threads << " threads";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, StarModel,
                         ::testing::Range(uint64_t{1},
                                          uint64_t{diptych::test::kSanitized ? 5 : 13}));

using StarQueryOf = StarModel;

TEST_P(StarQueryOf, NoOtherPlans) {
  const auto sum = [] {
    std::vector<Aggregate> sums;
    sums.push_back(aggregate_of(AggregateKind::kSum, column(4, kFactTypes[4])));
    return sums;
  };
  // A join along columns that are no key of the other table multiplies rows.
  OperatorPtr joined =
      join(JoinKind::kInner, scan(fact_, kFactTypes), scan(order_, kOrderTypes), {{1, 0}});
  EXPECT_FALSE(is_star(plan_of(aggregate(std::move(joined), {}, sum())), replica_));
  // An outer join keeps rows that find nothing.
  joined = join(JoinKind::kLeft, scan(fact_, kFactTypes), scan(place_, kPlaceTypes), {{0, 0}});
  EXPECT_FALSE(is_star(plan_of(aggregate(std::move(joined), {}, sum())), replica_));
  // Many groups; a key of two tables; distinct values.
  const auto grouped = [&](ExpressionPtr key, Aggregate one) {
    std::vector<ExpressionPtr> keys;
    keys.push_back(std::move(key));
    std::vector<Aggregate> aggregates;
    aggregates.push_back(std::move(one));
    return plan_of(aggregate(
        join(JoinKind::kInner, scan(fact_, kFactTypes), scan(place_, kPlaceTypes), {{0, 0}}),
        std::move(keys), std::move(aggregates)));
  };
  Plan plan = grouped(column(0, kIntType), std::move(sum()[0]));
  EXPECT_TRUE(is_star(plan, replica_));
  plan.root->estimated_rows = kStarGroupsMax + 1;
  EXPECT_FALSE(is_star(plan, replica_));
  plan = grouped(
      make(ExpressionKind::kAdd, kBigIntType, column(2, kBigIntType), column(7, kBigIntType)),
      std::move(sum()[0]));
  EXPECT_FALSE(is_star(plan, replica_));
  plan = grouped(column(0, kIntType),
                 aggregate_of(AggregateKind::kCountDistinct, column(4, kFactTypes[4])));
  EXPECT_FALSE(is_star(plan, replica_));
  // Arguments of another table.
  joined = join(JoinKind::kInner, scan(fact_, kFactTypes), scan(place_, kPlaceTypes), {{0, 0}});
  std::vector<Aggregate> of_place;
  of_place.push_back(aggregate_of(AggregateKind::kSum, column(7, kBigIntType)));
  EXPECT_FALSE(is_star(plan_of(aggregate(std::move(joined), {}, std::move(of_place))), replica_));
}

INSTANTIATE_TEST_SUITE_P(OneSeed, StarQueryOf, ::testing::Values(uint64_t{1}));

TEST(DenseKeysModel, NumberIsTheKeysPlaceInOrder) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    const int64_t min0 = static_cast<int64_t>(random() % 100) - 50;
    const int64_t min1 = round % 3 == 0 ? INT32_MIN - int64_t{3} : static_cast<int64_t>(round);
    const int64_t range0 = 1 + static_cast<int64_t>(random() % 9);
    const int64_t range1 = 1 + static_cast<int64_t>(random() % 9);
    const ValueBounds bounds[] = {{min0, min0 + range0 - 1}, {min1, min1 + range1 - 1}};
    EXPECT_FALSE(DenseKeys::make(bounds, static_cast<uint64_t>(range0 * range1 - 1)).has_value());
    const bool second_counts_more = random() % 3 == 0;
    std::vector<uint32_t> order = {0, 1};
    if (second_counts_more) std::swap(order[0], order[1]);
    if (!second_counts_more && random() % 2 == 0) order.clear();
    const auto keys = DenseKeys::make(bounds, static_cast<uint64_t>(range0 * range1), order);
    ASSERT_TRUE(keys.has_value());
    VectorBuffer first(PhysicalType::kInt64);
    VectorBuffer second(PhysicalType::kInt32);
    for (uint32_t i = 0; i < kVectorRows; ++i) {
      first.values<int64_t>()[i] = min0 - 2 + static_cast<int64_t>(random() % 14);
      second.values<int32_t>()[i] = static_cast<int32_t>(
          std::max<int64_t>(INT32_MIN, min1 - 2 + static_cast<int64_t>(random() % 14)));
      if (random() % 10 == 0) set_bit(first.nulls(), i);
    }
    const Vector vectors[] = {first.view_with_nulls(), second.view()};
    std::vector<uint32_t> numbers(kVectorRows);
    Selection rows;
    select_all(kVectorRows, &rows);
    if (round % 2 == 0) {
      uint64_t bits[kVectorWords] = {random(), random() & random() & random() & random()};
      select_bits(bits, kVectorRows, &rows);
    }
    keys->number(vectors, rows, numbers.data());
    for_selected(rows, [&](uint32_t i) {
      const int64_t a = first.values<int64_t>()[i] - min0;
      const int64_t b = int64_t{second.values<int32_t>()[i]} - min1;
      const bool inside = !vectors[0].is_null(i) && a >= 0 && a < range0 && b >= 0 && b < range1;
      const int64_t place = second_counts_more ? b * range0 + a : a * range1 + b;
      ASSERT_EQ(numbers[i], inside ? place : range0 * range1);
    });
  }
}

TEST(DenseKeysModel, BoundsOfAnyWidthAreRefusedOrNumbered) {
  const ValueBounds all[] = {{INT64_MIN, INT64_MAX}};
  EXPECT_FALSE(DenseKeys::make(all, uint64_t{1} << 31).has_value());
  const ValueBounds none[] = {{INT64_MAX, INT64_MIN}};
  ASSERT_TRUE(DenseKeys::make(none, 10).has_value());
  EXPECT_EQ(DenseKeys::make(none, 10)->size(), 0U);
}

// The queries of each row, by the definition.
template <class Wants>
void expect_queries(const QueryRows& rows, uint32_t slots, uint32_t queries, Wants&& wants) {
  for (uint32_t i = 0; i < slots; ++i) {
    for (uint32_t q = 0; q < queries; ++q) {
      ASSERT_EQ((rows.word(q / 64)[i] >> (q % 64)) & 1, wants(i, q) ? 1U : 0U)
          << "row " << i << ", query " << q;
    }
  }
}

TEST(QueryRowsModel, KeepTheQueriesOfTheirKeys) {
  std::mt19937_64 random(6);
  constexpr uint32_t kKeys = 50;
  for (size_t words = 1; words <= 6; ++words) {
    for (const uint32_t slots : {1U, 700U, kVectorRows}) {
      QueryRows rows(words +
                     2);  // of which the first and the last have nothing to do with the keys
      Selection live;
      select_all(slots, &live);
      rows.reset(std::vector<uint64_t>(words + 2, ~uint64_t{0}).data(), live);
      std::vector<uint64_t> found(kKeys * words);
      for (uint64_t& word : found) word = random();
      std::vector<uint32_t> keys(slots);
      for (uint32_t& key : keys) key = static_cast<uint32_t>(random() % kKeys);
      uint64_t bits[kVectorWords] = {};
      for (uint32_t i = 0; i < slots; ++i) {
        if (slots == kVectorRows || random() % 2 == 0) set_bit(bits, i);
      }
      Selection selected;
      select_bits(bits, slots, &selected);
      rows.keep_by_key(1, words, found.data(), keys.data(), selected);
      expect_queries(rows, slots, static_cast<uint32_t>(words + 2) * 64,
                     [&](uint32_t i, uint32_t q) {
                       if (q < 64 || q >= (words + 1) * 64 || !storage::bit_at(bits, i))
                         return true;
                       return ((found[keys[i] * words + q / 64 - 1] >> (q % 64)) & 1) != 0;
                     });
    }
  }
}

TEST(RangeClassesModel, KeepEachQuerysInterval) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 60; ++round) {
    constexpr uint32_t kQueries = 100;
    const int64_t spread = round % 2 == 0 ? 30 : int64_t{1} << 40;  // by value, and searched
    const auto draw = [&] { return static_cast<int64_t>(random() % 60) * (spread / 30); };
    RangeClasses classes;
    std::vector<std::pair<int64_t, int64_t>> wanted(kQueries);
    std::vector<bool> has_wish(kQueries);
    for (uint32_t q = 0; q < kQueries; q += 1 + q % 3) {
      const int64_t min = random() % 3 == 0 ? INT64_MIN : draw();
      const int64_t max = random() % 3 == 0 ? INT64_MAX : draw();
      classes.add(q, min, max);
      wanted[q] = {min, max};
      has_wish[q] = true;
    }
    classes.finish(0, 2);
    VectorBuffer values(PhysicalType::kInt64);
    for (uint32_t i = 0; i < kVectorRows; ++i) {
      int64_t& value = values.values<int64_t>()[i];
      value = draw() + static_cast<int64_t>(random() % 3) - 1;
      if (random() % 50 == 0) value = random() % 2 == 0 ? INT64_MIN : INT64_MAX;
      if (round % 8 == 5) value = spread;  // one class
      if (round % 4 == 1 && random() % 8 == 0) set_bit(values.nulls(), i);
    }
    Selection live;
    select_all(kVectorRows, &live);
    if (round % 3 == 1) {
      for (uint64_t& word : live.bits) word = random();
      select_bits(live.bits, kVectorRows, &live);
    }
    QueryRows rows(2);
    const uint64_t all[] = {~uint64_t{0}, ~uint64_t{0}};
    rows.reset(all, live);
    const Vector vector = values.view_with_nulls();
    classes.apply(vector, live, &rows);
    expect_queries(rows, kVectorRows, kQueries, [&](uint32_t i, uint32_t q) {
      if (!storage::bit_at(live.bits, i)) return false;
      if (!has_wish[q]) return true;
      const int64_t value = values.values<int64_t>()[i];
      return !vector.is_null(i) && wanted[q].first <= value && value <= wanted[q].second;
    });
  }
}

TEST(RangeClassesModel, KeepTheQueriesThatALeafMaySatisfy) {
  RangeClasses classes;
  classes.add(0, 10, 20);
  classes.add(1, 30, INT64_MAX);
  classes.finish(0, 1);
  const auto kept = [&](int64_t min, int64_t max, bool has_null) {
    uint64_t queries = 7;  // query 2 has no predicate
    storage::ColumnSummary summary;
    summary.known = true;
    summary.min = min;
    summary.max = max;
    summary.has_null = has_null;
    classes.keep_leaf(summary, &queries);
    return queries;
  };
  EXPECT_EQ(kept(0, 9, true), 4U);
  EXPECT_EQ(kept(0, 10, false), 5U);
  EXPECT_EQ(kept(21, 29, false), 4U);
  EXPECT_EQ(kept(20, 30, false), 7U);
  EXPECT_EQ(kept(31, 99, true), 6U);
  EXPECT_EQ(kept(1, 0, true), 4U);  // nulls only
}

TEST(PrefixClassesModel, KeepWhatLikeMatches) {
  std::mt19937_64 random(5);
  const std::string patterns[] = {"a%", "b%", "ab%", "zz%", "ba%", "z%"};
  const char* const texts[] = {"",   "a", "b", "ab", "abc", "ba and a long text beside it",
                               "zz", "zy"};
  PrefixClasses classes;
  std::vector<std::pair<LikePattern, bool>> wanted;
  for (uint32_t q = 0; q < 12; ++q) {
    ExpressionPtr like = make(ExpressionKind::kLike, kBooleanType, column(0, kTextType),
                              literal(kTextType, text(patterns[q % 6])));
    if (q >= 6) like = make(ExpressionKind::kNot, kBooleanType, std::move(like));
    const auto prefix = PrefixClasses::prefix_of(*like);
    ASSERT_TRUE(prefix.has_value());
    classes.add(q, *prefix);
    wanted.emplace_back(*LikePattern::compile(patterns[q % 6]), q >= 6);
  }
  classes.finish(0, 1);
  VectorBuffer values(PhysicalType::kString);
  std::vector<const char*> chosen;
  for (uint32_t i = 0; i < kVectorRows; ++i) {
    chosen.push_back(texts[random() % 8]);
    values.values<base::StringRef>()[i] = base::StringRef(chosen.back());
    if (random() % 8 == 0) set_bit(values.nulls(), i);
  }
  Selection live;
  select_all(kVectorRows, &live);
  QueryRows rows(1);
  const uint64_t all = ~uint64_t{0};
  rows.reset(&all, live);
  const Vector vector = values.view_with_nulls();
  classes.apply(vector, live, &rows);
  expect_queries(rows, kVectorRows, 12, [&](uint32_t i, uint32_t q) {
    return !vector.is_null(i) && wanted[q].first.matches(chosen[i]) != wanted[q].second;
  });
  for (const char* const other : {"%", "abc%", "a_%", "a\\%", "ab", "%a"}) {
    EXPECT_FALSE(
        PrefixClasses::prefix_of(*make(ExpressionKind::kLike, kBooleanType, column(0, kTextType),
                                       literal(kTextType, text(other))))
            .has_value());
  }
}

}  // namespace
}  // namespace diptych::olap::test
