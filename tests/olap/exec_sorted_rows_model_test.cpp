// The order of rows against a stable sort of the standard library: types, ties, nulls, limits, and
// any number of workers.

#include <algorithm>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "olap/execution/expression/comparison_kernels.h"
#include "olap/execution/group/rank_selection.h"
#include "olap/execution/sort/sorted_rows.h"
#include "tests/olap/exec_table.h"

namespace diptych::olap::test {
namespace {

const std::vector<DataType> kSortedTypes = {
    kIntType,    kBigIntType, decimal_type(30, 2),
    kDoubleType, kTextType,   DataType{base::TypeKind::kInterval}};

// Many that begin alike, and some that differ in their length alone.
std::string text_of(int64_t value) {
  if (value % 10 == 0) return std::string(90, 'x') + std::to_string(value);
  if (value % 2 == 0) return "the same first letters " + std::to_string(value);
  return value % 5 == 1 ? std::string(static_cast<size_t>(std::abs(value % 17)), '\0')
                        : std::to_string(value);
}

// Rows whose values are of a domain of so many, with nulls where wanted; 0: they ascend twice.
ColumnStore random_rows(uint64_t rows, uint64_t domain, bool nulls, std::mt19937_64* random) {
  ColumnStore store(kSortedTypes);
  std::vector<VectorBuffer> buffers;
  for (const DataType& type : kSortedTypes) buffers.emplace_back(physical_type(type));
  std::vector<std::string> texts(kVectorRows);
  for (uint64_t first = 0; first < rows; first += kVectorRows) {
    Selection selection;
    select_all(static_cast<uint32_t>(std::min<uint64_t>(kVectorRows, rows - first)), &selection);
    for (VectorBuffer& buffer : buffers) buffer.clear_nulls();
    for (uint32_t i = 0; i < selection.count; ++i) {
      const int64_t any = domain == 0 ? static_cast<int64_t>((first + i) % ((rows + 1) / 2))
                                      : static_cast<int64_t>((*random)() % domain);
      const int64_t value = any - static_cast<int64_t>(domain / 2);
      buffers[0].values<int32_t>()[i] = static_cast<int32_t>(value);
      buffers[1].values<int64_t>()[i] = value == 3 ? INT64_MIN : value == 4 ? INT64_MAX : value;
      // Some beyond 64 bits, and those are equal there.
      buffers[2].values<int128_t>()[i] = value % 7 == 0 ? int128_t{INT64_MAX} * (value + 2) : value;
      buffers[3].values<double>()[i] = value == 1   ? std::nan("")
                                       : value == 2 ? -0.0
                                                    : static_cast<double>(value / 3);
      texts[i] = text_of(value);
      buffers[4].values<base::StringRef>()[i] = base::StringRef(texts[i]);
      // A month is 30 days; some are beyond 64 bits of microseconds.
      const auto months = static_cast<int32_t>(value % 7 == 0 ? INT32_MAX - 1 : value % 3);
      buffers[5].values<base::Interval>()[i] = {months, static_cast<int32_t>(value % 40),
                                                value / 5};
      for (VectorBuffer& buffer : buffers) {
        if (nulls && (*random)() % 5 == 0) set_bit(buffer.nulls(), i);
      }
    }
    std::vector<Vector> vectors;
    for (VectorBuffer& buffer : buffers) {
      vectors.push_back(nulls ? buffer.view_with_nulls() : buffer.view());
      vectors.back().string_life = StringLife::kBatch;
    }
    store.append(vectors, selection);
  }
  return store;
}

bool row_less(const ColumnStore& rows, const std::vector<SortKey>& keys, uint32_t a, uint32_t b) {
  for (const SortKey& key : keys) {
    const bool a_null = rows.is_null(key.column, a);
    const bool b_null = rows.is_null(key.column, b);
    if (a_null != b_null) return a_null == key.nulls_first;
    if (a_null) continue;
    const int order = with_physical_type(rows.type(key.column), [&](auto value) {
      const auto* const values = rows.values<decltype(value)>(key.column);
      if (value_less(values[a], values[b])) return -1;
      return value_less(values[b], values[a]) ? 1 : 0;
    });
    if (order != 0) return key.descending ? order > 0 : order < 0;
  }
  return false;
}

TEST(SortedRowsModel, AgreeWithAStableSortWhateverTheWorkers) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const StopFlag never{false};
  const StopSignal stop(&never);
  for (const uint64_t row_count : {0, 1, 5, 1500, 40'000, 130'000}) {
    for (const uint64_t domain : {uint64_t{0}, uint64_t{1}, uint64_t{9}, uint64_t{1} << 31}) {
      const ColumnStore rows =
          random_rows(row_count, domain, domain != 0 && random() % 2 == 0, &random);
      std::vector<SortKey> keys;
      if (domain == 0) keys.push_back({0, false, false});
      for (uint64_t i = domain == 0 ? 0 : random() % 4 + (domain == 9 ? 0 : 1); i != 0; --i) {
        const auto column = static_cast<uint32_t>(random() % kSortedTypes.size());
        keys.push_back({column, random() % 2 == 0, random() % 2 == 0});
      }
      std::vector<uint32_t> expected(row_count);
      std::iota(expected.begin(), expected.end(), 0U);
      std::stable_sort(expected.begin(), expected.end(),
                       [&](uint32_t a, uint32_t b) { return row_less(rows, keys, a, b); });
      for (const uint32_t workers : {1, 2, 3, 8}) {
        ExecutionArena arena(placement(workers));
        for (const uint64_t limit : {kNoLimit, row_count / 2, row_count / 20, uint64_t{0}}) {
          std::vector<uint32_t> wanted = expected;
          if (limit < wanted.size()) wanted.resize(limit);
          ASSERT_EQ(sorted_rows(rows, keys, limit, Workers(&arena, stop)), wanted)
              << row_count << " rows, " << domain << " values, first key "
              << (keys.empty() ? 99 : keys[0].column) << ", " << workers << " workers, " << limit;
        }
      }
    }
  }
}

// A value may have the prefix that stands for null.
TEST(SortedRowsModel, NullsAreApartFromEveryValue) {
  std::mt19937_64 random(1);
  const StopFlag never{false};
  const ColumnStore rows = random_rows(3000, 9, true, &random);
  for (uint32_t column = 0; column < kSortedTypes.size(); ++column) {
    for (const int flags : {0, 1, 2, 3}) {
      const std::vector<SortKey> keys = {{column, (flags & 1) != 0, (flags & 2) != 0}};
      std::vector<uint32_t> expected(rows.row_count());
      std::iota(expected.begin(), expected.end(), 0U);
      std::stable_sort(expected.begin(), expected.end(),
                       [&](uint32_t a, uint32_t b) { return row_less(rows, keys, a, b); });
      const StopSignal stop(&never);
      EXPECT_EQ(sorted_rows(rows, keys, kNoLimit, Workers(stop)), expected)
          << "column " << column << ", " << flags;
    }
  }
}

// Some workers meet texts that are longer than a prefix, and the others none.
TEST(SortedRowsModel, LongTextsInOnePartAreCompared) {
  constexpr uint32_t kRows = 60'000;
  std::mt19937_64 random(2);
  ColumnStore rows(std::vector<DataType>{kTextType});
  std::vector<std::string> texts(kVectorRows);
  for (uint32_t first = 0; first < kRows; first += kVectorRows) {
    Selection selection;
    select_all(std::min(kVectorRows, kRows - first), &selection);
    VectorBuffer buffer(PhysicalType::kString);
    for (uint32_t i = 0; i < selection.count; ++i) {
      const std::string number = std::to_string(random() % 1000);
      texts[i] = first < kRows / 4 ? "the same first letters " + number : number;
      buffer.values<base::StringRef>()[i] = base::StringRef(texts[i]);
    }
    std::vector<Vector> vectors = {buffer.view()};
    vectors[0].string_life = StringLife::kBatch;
    rows.append(vectors, selection);
  }
  const std::vector<SortKey> keys = {{0, false, false}};
  std::vector<uint32_t> expected(kRows);
  std::iota(expected.begin(), expected.end(), 0U);
  std::stable_sort(expected.begin(), expected.end(),
                   [&](uint32_t a, uint32_t b) { return row_less(rows, keys, a, b); });
  const StopFlag never{false};
  const StopSignal stop(&never);
  for (const uint32_t workers : {1, 3}) {
    ExecutionArena arena(placement(workers));
    EXPECT_EQ(sorted_rows(rows, keys, kNoLimit, Workers(&arena, stop)), expected) << workers;
  }
}

// Numbers of few bits, some NULL, so that several keys lie in one prefix, whose places are full.
TEST(SortedRowsModel, SeveralIntegersLieInOnePrefix) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const StopFlag never{false};
  const StopSignal stop(&never);
  const std::vector<DataType> types = {kIntType, kBigIntType, kDateType, kBigIntType, kBigIntType};
  constexpr size_t kWide = 4;  // the column with which keys have about as many bits as there are
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    ColumnStore rows(types);
    const bool is_whole = round % 10 == 9;  // all of its type's values
    const uint64_t unused_bits = is_whole ? 0 : 6 + random() % 3;
    const uint32_t count = 1 + static_cast<uint32_t>(random() % 3000);
    std::vector<uint64_t> domains;
    std::vector<bool> nulls;
    for (size_t c = 0; c < types.size(); ++c) {
      domains.push_back(uint64_t{1} << random() % 8);
      nulls.push_back(random() % 2 == 0);
    }
    if (round % 2 == 1) domains[0] = is_whole ? 1 : 128;
    for (uint32_t first = 0; first < count; first += kVectorRows) {
      Selection selection;
      select_all(std::min(kVectorRows, count - first), &selection);
      std::vector<VectorBuffer> buffers;
      for (const DataType& type : types) buffers.emplace_back(physical_type(type));
      std::vector<Vector> vectors;
      for (size_t c = 0; c < types.size(); ++c) {
        for (uint32_t i = 0; i < selection.count; ++i) {
          int64_t value = static_cast<int64_t>(random() % domains[c]) - 5;
          if (c == kWide) value = static_cast<int64_t>(random() >> unused_bits);
          if (c == kWide && is_whole && i < 2) value = i == 0 ? INT64_MIN : INT64_MAX;
          if (buffers[c].type() == PhysicalType::kInt32) {
            buffers[c].values<int32_t>()[i] = static_cast<int32_t>(value);
          } else {
            buffers[c].values<int64_t>()[i] = value + (c == 3 ? INT64_MIN + 5 : 0);
          }
          if (nulls[c] && random() % 4 == 0) set_bit(buffers[c].nulls(), i);
        }
        vectors.push_back(nulls[c] ? buffers[c].view_with_nulls() : buffers[c].view());
      }
      rows.append(vectors, selection);
    }
    std::vector<SortKey> keys;
    for (uint64_t i = 2 + random() % 3; i != 0; --i) {
      const auto column = static_cast<uint32_t>(random() % types.size());
      keys.push_back({column, random() % 2 == 0, random() % 2 == 0});
    }
    if (round % 2 == 1) {
      keys[0].column = 0;
      keys[1].column = kWide;
    }
    std::vector<uint32_t> expected(count);
    std::iota(expected.begin(), expected.end(), 0U);
    std::stable_sort(expected.begin(), expected.end(),
                     [&](uint32_t a, uint32_t b) { return row_less(rows, keys, a, b); });
    ASSERT_EQ(sorted_rows(rows, keys, kNoLimit, Workers(stop)), expected);
  }
}

TEST(RankSelectionModel, GivesTheRowsOfAStableSort) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const StopFlag never{false};
  const StopSignal stop(&never);
  for (const uint64_t row_count : {1, 2, 700, 20'000}) {
    for (const uint64_t domain : {uint64_t{0}, uint64_t{1}, uint64_t{9}, uint64_t{1} << 31}) {
      const ColumnStore rows = random_rows(row_count, domain, false, &random);
      for (uint32_t column = 0; column < kSortedTypes.size(); ++column) {
        const std::vector<SortKey> keys = {{column, random() % 2 == 0, false}};
        std::vector<uint32_t> arrived;
        for (uint32_t row = 0; row < row_count; ++row) {
          if (row == 0 || random() % 3 != 0) arrived.push_back(row);
        }
        std::vector<uint32_t> expected = arrived;
        std::stable_sort(expected.begin(), expected.end(),
                         [&](uint32_t a, uint32_t b) { return row_less(rows, keys, a, b); });
        with_physical_type(rows.type(column), [&](auto value) {
          using T = decltype(value);
          RankSelection<T> selection(rows.values<T>(column), keys[0].descending, stop);
          selection.start(std::span(arrived).first(arrived.size() / 2));  // another's before
          if (arrived.size() > 1) selection.row(0);
          selection.start(arrived);
          for (uint32_t i = 0; i < 6; ++i) {
            const size_t rank = i == 0   ? 0
                                : i == 1 ? arrived.size() - 1
                                         : random() % arrived.size();
            ASSERT_EQ(selection.row(rank), expected[rank])
                << "rank " << rank << " of " << arrived.size() << ", column " << column << ", "
                << domain << " values, descending: " << keys[0].descending;
          }
        });
      }
    }
  }
}

// With a limit, rows that cannot be among the first are not taken.
TEST(TopRowsModel, AreTheFirstOfASortOfAll) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  std::vector<DataType> types = kSortedTypes;  // with what a column has in an interval's place
  types.back() = kBooleanType;
  types.push_back(kBigIntType);
  const auto sorted = [&](uint64_t limit, uint64_t offset, const std::vector<SortKey>& keys,
                          const TestReplica& replica, uint32_t threads) {
    OperatorPtr sort = over(OperatorKind::kSort, scan(base::TableId(0), types), types);
    sort->sort_keys = keys;
    sort->limit = limit;
    sort->offset = offset;
    base::Result<QueryResult> result = run(plan_of(std::move(sort)), replica.replica(), threads);
    EXPECT_TRUE(result.ok());
    return lines(result->rows, false);
  };
  for (const uint64_t domain : {9, 100'000}) {
    TestReplica replica;
    const base::TableId table = replica.add_table(types);
    for (int64_t i = 0; i < 30'000; ++i) {
      const int64_t value = static_cast<int64_t>(random() % domain) - 3;
      Row row = {number(value),
                 number(value == 3 ? INT64_MIN : value),
                 decimal(value % 7 == 0 ? base::int128_t{INT64_MAX} * value : value, 2),
                 value == 1 ? std::nan("") : static_cast<double>(value) / 3,
                 text(value % 5 == 1 ? "" : text_of(value)),
                 value % 3 == 0};
      for (Value& each : row) {
        if (random() % 5 == 0) each = kNull;
      }
      row.push_back(number(i));
      replica.insert(table, row);
    }
    replica.compact();
    for (uint32_t round = 0; round < 12; ++round) {
      std::vector<SortKey> keys;
      keys.push_back({round % 6, random() % 2 == 0, random() % 2 == 0});
      if (random() % 2 == 0) keys.push_back({static_cast<uint32_t>(random() % 6), true, false});
      keys.push_back({6, random() % 2 == 0, false});
      const uint64_t limit = random() % 3 == 0 ? random() % 3 : random() % 2000;
      const uint64_t offset = random() % 2 == 0 ? 0 : random() % 100;
      std::vector<std::string> expected = sorted(kNoLimit, 0, keys, replica, 1);
      expected.erase(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(offset));
      expected.resize(limit);
      for (const uint32_t threads : {1, 3}) {
        EXPECT_EQ(sorted(limit, offset, keys, replica, threads), expected)
            << "column " << round % 6 << ", " << limit << " from " << offset;
      }
    }
  }
}

void expect_equal(const ColumnStore& all, const ColumnStore& expected) {
  ASSERT_EQ(all.row_count(), expected.row_count());
  for (size_t c = 0; c < kSortedTypes.size(); ++c) {
    with_physical_type(all.type(c), [&](auto value) {
      using T = decltype(value);
      for (uint64_t row = 0; row < all.row_count(); ++row) {
        ASSERT_EQ(all.is_null(c, row), expected.is_null(c, row)) << row;
        if (all.is_null(c, row)) continue;
        const T& a = all.values<T>(c)[row];
        const T& b = expected.values<T>(c)[row];
        ASSERT_FALSE(value_less(a, b) || value_less(b, a)) << "row " << row << ", column " << c;
      }
    });
  }
}

// Rows of several stores, some of them empty, some without nulls: as in one after the other.
TEST(AbsorbedRowsModel, AreThoseOfAllStoresInOrder) {
  std::mt19937_64 random(1);
  const StopFlag never{false};
  const StopSignal stop(&never);
  for (const uint32_t workers : {1, 2, 3, 8}) {
    ExecutionArena arena(placement(workers));
    ColumnStore all = random_rows(workers == 3 ? 0 : 30'000, 9, workers == 8, &random);
    ColumnStore expected(kSortedTypes);
    std::vector<uint32_t> numbers(70'000);
    std::iota(numbers.begin(), numbers.end(), 0U);
    expected.append_rows(all, {numbers.data(), all.row_count()});
    std::vector<ColumnStore> others;
    for (const uint64_t rows : {0, 70'000, 1, 40'000}) {
      others.push_back(random_rows(rows, 1 << 20, rows == 70'000, &random));
      expected.append_rows(others.back(), {numbers.data(), rows});
    }
    std::vector<ColumnStore*> absorbed;
    for (ColumnStore& other : others) absorbed.push_back(&other);
    all.absorb_all(absorbed, Workers(&arena, stop));
    ASSERT_NO_FATAL_FAILURE(expect_equal(all, expected));
  }
}

// Rows by workers: the same as picked one by one.
TEST(ReorderedRowsModel, AreInThePlacesThatTheyWereGiven) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const StopFlag never{false};
  const StopSignal stop(&never);
  for (const uint64_t row_count : {0, 1, 1500, 100'000}) {
    for (const uint32_t workers : {1, 3, 8}) {
      ColumnStore rows = random_rows(row_count, 1 << 20, workers == 8, &random);
      std::vector<uint32_t> from(row_count);
      std::iota(from.begin(), from.end(), 0U);
      if (workers != 3 || row_count != 1500) std::shuffle(from.begin(), from.end(), random);
      ColumnStore expected(kSortedTypes);
      expected.append_rows(rows, from);
      GrowingArray<uint32_t> to;
      to.resize(row_count);
      for (uint32_t place = 0; place < row_count; ++place) to[from[place]] = place;
      ExecutionArena arena(placement(workers));
      rows.reorder(to, Workers(&arena, stop));
      ASSERT_NO_FATAL_FAILURE(expect_equal(rows, expected));
      // And back.
      ColumnStore before(kSortedTypes);
      before.append_rows(rows, {to.data(), to.size()});
      rows.put_in_order({to.data(), to.size()}, Workers(&arena, stop));
      ASSERT_NO_FATAL_FAILURE(expect_equal(rows, before));
    }
  }
}

TEST(SortedRowsModel, AStoppedSortEnds) {
  std::mt19937_64 random(1);
  const ColumnStore rows = random_rows(100'000, 9, false, &random);
  const StopFlag stopped{true};
  for (const uint32_t workers : {1, 3}) {
    ExecutionArena arena(placement(workers));
    EXPECT_THROW(
        sorted_rows(rows, {{0, false, false}}, kNoLimit, Workers(&arena, StopSignal(&stopped))),
        QueryFailure);
  }
}

TEST(RankSelectionModel, AStoppedSelectionEnds) {
  std::mt19937_64 random(1);
  const ColumnStore rows = random_rows(100'000, 1 << 20, false, &random);
  std::vector<uint32_t> numbers(rows.row_count());
  std::iota(numbers.begin(), numbers.end(), 0U);
  StopFlag stopped{false};
  const StopSignal stop(&stopped);
  RankSelection<int32_t> selection(rows.values<int32_t>(0), false, stop);
  selection.start(numbers);
  stopped = true;
  EXPECT_THROW(selection.row(77'000), QueryFailure);
  EXPECT_THROW(selection.start(numbers), QueryFailure);
}

}  // namespace
}  // namespace diptych::olap::test
