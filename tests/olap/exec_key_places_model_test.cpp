// Numbers of keys by their places, against a map: arrays and ranked bits, selections of all kinds,
// every target of Highway.

#include <map>
#include <random>
#include <unordered_map>

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include "olap/execution/key/key_places.h"
#include "olap/execution/vector/equal_runs.h"
#include "olap/execution/vector/probe_kernels.h"

namespace diptych::olap::test {
namespace {

using PlacesRandom = std::mt19937_64;

struct PlacesShape {
  uint32_t size;
  uint64_t rows;
  bool is_ranked;  // numbered by places, not as they come
  const char* what;
};

constexpr PlacesShape kPlacesShapes[] = {
    {1, 1, false, "one place"},
    {1, 0, false, "no rows"},
    {1000, 400, false, "an array"},
    {300'000, 200'000, false, "an array that is nearly full"},
    {300'000, 0, true, "ranked, empty"},
    {300'000, 1, true, "ranked, one key"},
    {300'001, 50'000, true, "ranked, keys more than once"},
    {2'000'000, 3'000, true, "ranked, sparse"},
};

struct NumberedPlaces {
  KeyPlaces places;
  std::unordered_map<uint32_t, uint32_t> model;
};

NumberedPlaces make_places(const PlacesShape& shape, PlacesRandom* random) {
  NumberedPlaces made;
  GrowingArray<uint32_t> rows;
  std::vector<uint32_t> expected;
  std::uniform_int_distribution<uint32_t> any(0, shape.size - 1);
  for (uint64_t row = 0; row < shape.rows; ++row) {
    // The first and the last place are always among them.
    const uint32_t place = row == 0 ? 0 : row == 1 ? shape.size - 1 : any(*random);
    rows.push_back(place);
    const auto number = static_cast<uint32_t>(made.model.size());
    expected.push_back(made.model.try_emplace(place, number).first->second);
  }
  if (shape.is_ranked) {
    std::map<uint32_t, uint32_t> sorted(made.model.begin(), made.model.end());
    uint32_t rank = 0;
    for (const auto& [place, number] : sorted) made.model[place] = rank++;
    for (uint64_t row = 0; row < shape.rows; ++row) expected[row] = made.model[rows[row]];
  }
  const StopFlag never{false};
  const StopSignal stop(&never);
  EXPECT_EQ(made.places.build(shape.size, &rows, stop), made.model.size());
  for (uint64_t row = 0; row < shape.rows; ++row) EXPECT_EQ(rows[row], expected[row]);
  return made;
}

Selection random_selection(uint32_t slots, uint32_t percent, PlacesRandom* random) {
  Selection selection;
  uint64_t bits[kVectorWords] = {};
  for (uint32_t i = 0; i < slots; ++i) {
    if ((*random)() % 100 < percent) set_bit(bits, i);
  }
  select_bits(bits, slots, &selection);
  return selection;
}

void expect_matches(const NumberedPlaces& made, const PlacesShape& shape, const Selection& rows,
                    PlacesRandom* random) {
  uint32_t places[kVectorRows];
  // What is not selected may be anything that can be looked up; behind the slots, anything at all.
  std::fill_n(places, kVectorRows, UINT32_MAX);
  for (uint32_t i = 0; i < rows.slots; ++i) {
    const auto known =
        std::next(made.model.begin(), made.model.empty() ? 0 : i % 7 % made.model.size());
    const bool hit = !made.model.empty() && (*random)() % 3 == 0;
    places[i] =
        hit ? known->first : static_cast<uint32_t>((*random)() % (shape.size + uint64_t{1}));
  }
  std::vector<uint32_t> expected;
  uint64_t expected_bits[kVectorWords] = {};
  for_selected(rows, [&](uint32_t slot) {
    const auto found = made.model.find(places[slot]);
    const bool has_key = found != made.model.end();
    EXPECT_EQ(made.places.number(places[slot]), has_key ? found->second : KeyPlaces::kNoKey);
    if (!has_key) return;
    expected.push_back(found->second);
    set_bit(expected_bits, slot);
  });
  uint32_t numbers[kVectorRows];
  Selection with_key;
  uint32_t asked[kVectorRows];
  std::copy_n(places, kVectorRows, asked);
  made.places.select(asked, rows, &with_key);
  EXPECT_TRUE(std::equal(expected_bits, expected_bits + kVectorWords, with_key.bits));
  made.places.match(places, rows, &with_key, numbers);
  EXPECT_EQ(std::vector<uint32_t>(numbers, numbers + with_key.count), expected);
  EXPECT_TRUE(std::equal(expected_bits, expected_bits + kVectorWords, with_key.bits));
}

// body(random) with the kernels of each target that this machine has.
template <class Body>
void on_every_target(const Body& body) {
  const uint64_t seed = std::random_device()();
  PlacesRandom random(seed);
  for (const int64_t target : {HWY_SCALAR, HWY_AVX2, HWY_AVX3, HWY_AVX3_DL}) {
    hwy::SetSupportedTargetsForTest(0);
    if (target != HWY_SCALAR && (hwy::SupportedTargets() & target) == 0) continue;
    hwy::SetSupportedTargetsForTest(target);
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", target " << target);
    body(&random);
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(KeyPlacesModel, AgreesWithAMapOnEveryTarget) {
  on_every_target([](PlacesRandom* random) {
    for (const PlacesShape& shape : kPlacesShapes) {
      SCOPED_TRACE(shape.what);
      const NumberedPlaces made = make_places(shape, random);
      for (const uint32_t slots : {0U, 1U, 63U, 64U, 65U, 1000U, kVectorRows}) {
        for (const uint32_t percent : {0, 3, 50, 100}) {
          expect_matches(made, shape, random_selection(slots, percent, random), random);
        }
      }
      if (testing::Test::HasFailure()) break;
    }
  });
}

// Places of columns whose bounds lie anywhere, of values in and beyond them.
void expect_places(uint32_t count, uint32_t slots, PlacesRandom* random) {
  SCOPED_TRACE(testing::Message() << count << " columns, " << slots << " slots");
  constexpr uint32_t kNone = 1'000'000'000;
  const auto below = [&](uint32_t end) { return static_cast<uint32_t>((*random)() % end); };
  std::vector<std::vector<int32_t>> values(count, std::vector<int32_t>(slots));
  std::vector<PlaceColumn> columns;
  std::vector<uint32_t> expected(slots);
  for (uint32_t c = 0; c < count; ++c) {
    const int64_t mins[] = {INT32_MIN, -5, 0, INT32_MAX - 9};
    const int64_t min = mins[(*random)() % 4];
    const uint32_t last = (*random)() % 8 == 0 && min == INT32_MIN ? UINT32_MAX : below(10);
    const auto stride = 1 + below(1000);
    for (uint32_t i = 0; i < slots; ++i) {
      const bool any = (*random)() % 4 == 0;
      // As 32 bits: from one below the bounds to one above them, which may be at the other end.
      const uint32_t near = static_cast<uint32_t>(min) - 1 + below(last % 1000 + 3);
      values[c][i] = static_cast<int32_t>(any ? (*random)() : near);
      const int64_t offset = values[c][i] - min;
      const bool is_outside = offset < 0 || offset > last || expected[i] == kNone;
      expected[i] = is_outside ? kNone : expected[i] + static_cast<uint32_t>(offset) * stride;
    }
    columns.push_back({values[c].data(), static_cast<uint32_t>(min), last, stride});
  }
  std::vector<uint32_t> places(slots + 1, 7);
  number_places(columns.data(), count, slots, kNone, places.data());
  EXPECT_EQ(places.back(), 7U) << "behind the slots";
  places.pop_back();
  EXPECT_EQ(places, expected);
}

TEST(NumberPlaces, AreSumsOverColumnsOnEveryTarget) {
  on_every_target([](PlacesRandom* random) {
    for (uint32_t count = 1; count <= kPlaceColumnsMax; ++count) {
      for (const uint32_t slots : {0U, 1U, 7U, 8U, 63U, 64U, 65U, 1000U, kVectorRows}) {
        expect_places(count, slots, random);
      }
    }
  });
}

template <class T>
void expect_changes(uint32_t words, uint32_t percent, PlacesRandom* random) {
  SCOPED_TRACE(testing::Message() << words << " words, " << percent << " %");
  std::vector<T> values(words * 64);
  std::vector<uint16_t> expected;
  // The highest bit alone may differ.
  const auto draw = [&] { return static_cast<T>((*random)() % 3) << (sizeof(T) * 8 - 2); };
  const T first = draw();
  T before = first;
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = (*random)() % 100 < percent ? draw() : before;
    if (values[i] != before) expected.push_back(static_cast<uint16_t>(i));
    before = values[i];
  }
  std::vector<uint16_t> changes(values.size());
  changes.resize(collect_changes(values.data(), words, first, changes.data()));
  EXPECT_EQ(changes, expected);
}

TEST(CollectChanges, ListsWhereRunsBeginOnEveryTarget) {
  on_every_target([](PlacesRandom* random) {
    for (const uint32_t words : {1U, 2U, kVectorWords}) {
      for (const uint32_t percent : {0, 3, 50, 100}) {
        expect_changes<uint32_t>(words, percent, random);
        expect_changes<uint64_t>(words, percent, random);
      }
    }
  });
}

TEST(EqualRuns, HaveEachPositionOnceAndAreNoneWhereTheyAreShort) {
  PlacesRandom random(std::random_device{}());
  for (int round = 0; round < 300; ++round) {
    const uint32_t percent = 1 + static_cast<uint32_t>(random() % 40);
    const auto count = static_cast<uint32_t>(random() % (kVectorRows + 1));
    std::vector<uint32_t> numbers(kVectorRows);
    uint32_t starts = 0;
    for (uint32_t i = 0; i < kVectorRows; ++i) {
      const bool starts_here = i == 0 || random() % 100 < percent;
      numbers[i] = starts_here ? (i == 0 ? 0 : numbers[i - 1] + 1) : numbers[i - 1];
      starts += static_cast<uint32_t>(starts_here && i < count);
    }
    EqualRuns runs;
    const bool are_long = count != 0 && starts * EqualRuns::kLengthMin <= count;
    ASSERT_EQ(runs.find(numbers.data(), count), are_long);
    ASSERT_EQ(runs.count(), are_long ? starts : 0);
    uint32_t next = 0;
    runs.for_runs([&](uint32_t, uint32_t begin, uint32_t end) {
      ASSERT_EQ(begin, next);
      for (; next < end; ++next) ASSERT_EQ(numbers[next], numbers[begin]);
    });
    ASSERT_EQ(next, are_long ? count : 0);
  }
}

TEST(SelectBits, ListsTheBitsOfEachDensityOnEveryTarget) {
  on_every_target([](PlacesRandom* random) {
    for (const uint32_t slots : {0U, 1U, 63U, 64U, 65U, 1000U, kVectorRows}) {
      for (const uint32_t percent : {0, 3, 10, 50, 97, 100}) {
        SCOPED_TRACE(testing::Message() << slots << " slots, " << percent << " %");
        uint64_t bits[kVectorWords] = {};
        std::vector<uint16_t> expected;
        for (uint32_t i = 0; i < kVectorRows; ++i) {
          if ((*random)() % 100 >= percent) continue;
          set_bit(bits, i);  // behind the slots too
          if (i < slots) expected.push_back(static_cast<uint16_t>(i));
        }
        Selection selection;
        select_bits(bits, slots, &selection);
        std::vector<uint16_t> listed;
        for_selected(selection, [&](uint32_t i) { listed.push_back(static_cast<uint16_t>(i)); });
        EXPECT_EQ(listed, expected);
        for (uint32_t i = 0; i < kVectorRows; ++i) {
          EXPECT_EQ(bit_at(selection.bits, i), i < slots && bit_at(bits, i));
        }
        select_bits(selection.bits, slots, &selection);  // its own
        EXPECT_EQ(selection.count, expected.size());
      }
    }
  });
}

}  // namespace
}  // namespace diptych::olap::test
