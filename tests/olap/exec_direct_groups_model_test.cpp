// Groups found by direct addressing, and by the table where that does not pay, against a map.

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "olap/execution/group/direct_groups.h"
#include "tests/olap/exec_table.h"

namespace diptych::olap::test {
namespace {

using Key = std::vector<int64_t>;

class Groups {
 public:
  Groups(const std::vector<KeyColumn>& columns, NullKeys nulls)
      : packer_(columns, nulls),
        table_(packer_, QueryLimits{&memory_, &stop_}, "keys"),
        direct_(columns, packer_, table_, stop_),
        packed_(size_t{kVectorRows} * packer_.words()),
        hashes_(kVectorRows) {}

  // As GroupTable::find_groups. Returns whether direct addressing found them.
  bool find(std::span<const Vector> keys, const Selection& rows, uint32_t* groups) {
    if (direct_.find(keys, rows, groups)) {
      const Selection& added = direct_.new_rows();
      packer_.pack(keys, added, packed_.data(), hashes_.data());
      table_.append(packed_.data(), hashes_.data(), added.count);
      return true;
    }
    packer_.pack(keys, rows, packed_.data(), hashes_.data());
    table_.find_or_insert(packed_.data(), hashes_.data(), rows.count, StringLife::kQuery, groups);
    return false;
  }

  const KeyPacker& packer() const { return packer_; }
  const KeyTable& table() const { return table_; }
  size_t direct_bytes() const { return direct_.memory_bytes(); }

 private:
  StopFlag never_{false};
  StopSignal stop_{&never_};
  MemoryBudget memory_{MemoryLimits{}};
  KeyPacker packer_;
  KeyTable table_;
  DirectGroups direct_;
  std::vector<uint64_t> packed_;
  std::vector<uint64_t> hashes_;
};

struct Batches {
  const char* what;
  uint32_t count;
  // The i-th batch's values are in [low, low + range).
  int64_t (*low)(uint32_t batch);
  uint64_t range;
  bool direct;  // at the end, of a key of one column
};

constexpr Batches kBatches[] = {
    {"few values", 20, [](uint32_t) -> int64_t { return -7; }, 15, true},
    {"ascending values", 60, [](uint32_t i) -> int64_t { return int64_t{i} * 2000; }, 2000, true},
    {"descending values", 60, [](uint32_t i) -> int64_t { return int64_t{i} * -900; }, 900, true},
    // Given up at 28,000 rows at the latest, when the places are nearly too many, and tried again
    // at twice as many.
    {"a range that pays later", 120, [](uint32_t) -> int64_t { return 0; }, 100'000, true},
    {"sparse values", 30, [](uint32_t) -> int64_t { return 0; }, uint64_t{1} << 31, false},
    {"far apart in the end", 20, [](uint32_t i) -> int64_t { return i < 15 ? 5 : INT32_MAX - 100; },
     90, false},
    {"the ends of the type", 20,
     [](uint32_t i) -> int64_t { return i % 2 == 0 ? INT32_MIN : INT32_MAX - 50; }, 50, false},
};

TEST(DirectGroupsModel, AgreesWithAMap) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const std::vector<std::vector<KeyColumn>> shapes = {
      {{PhysicalType::kInt32}},
      {{PhysicalType::kInt64}},
      {{PhysicalType::kInt32}, {PhysicalType::kInt32}, {PhysicalType::kInt64}}};
  for (const std::vector<KeyColumn>& columns : shapes) {
    for (const Batches& batches : kBatches) {
      SCOPED_TRACE(testing::Message() << batches.what << ", columns " << columns.size());
      Groups groups(columns, NullKeys::kNever);
      std::map<Key, uint32_t> expected;
      bool direct = false;
      for (uint32_t batch = 0; batch < batches.count; ++batch) {
        std::vector<VectorBuffer> buffers;
        std::vector<Key> keys(kVectorRows);
        for (size_t c = 0; c < columns.size(); ++c) {
          buffers.emplace_back(columns[c].type);
          for (uint32_t slot = 0; slot < kVectorRows; ++slot) {
            // Further columns have few values: there is no room for more.
            const int64_t value =
                c == 0 ? batches.low(batch) + static_cast<int64_t>(random() % batches.range)
                       : static_cast<int64_t>(random() % 2);
            keys[slot].push_back(value);
            if (columns[c].type == PhysicalType::kInt32) {
              buffers[c].values<int32_t>()[slot] = static_cast<int32_t>(value);
            } else {
              buffers[c].values<int64_t>()[slot] = value;
            }
          }
        }
        std::vector<Vector> vectors;
        for (const VectorBuffer& buffer : buffers) vectors.push_back(buffer.view());
        Selection rows;
        uint64_t bits[kVectorWords];
        for (uint64_t& word : bits) word = batch % 3 == 0 ? ~uint64_t{0} : random() & random();
        select_bits(bits, kVectorRows, &rows);
        std::vector<uint32_t> found(kVectorRows);
        direct = groups.find(vectors, rows, found.data());
        for (uint32_t k = 0; k < rows.count; ++k) {
          const auto number = static_cast<uint32_t>(expected.size());
          ASSERT_EQ(found[k], expected.try_emplace(keys[rows.row(k)], number).first->second);
        }
        ASSERT_EQ(groups.table().size(), expected.size());
      }
      EXPECT_TRUE(direct == batches.direct || columns.size() > 1);
      EXPECT_EQ(groups.direct_bytes() != 0, direct);
      for (const auto& [key, number] : expected) {
        for (size_t c = 0; c < columns.size(); ++c) {
          VectorBuffer value(columns[c].type);
          const Vector back = groups.packer().unpack(c, groups.table().keys(), number, 1, &value);
          ASSERT_EQ(columns[c].type == PhysicalType::kInt32 ? back.as<int32_t>()[0]
                                                            : back.as<int64_t>()[0],
                    key[c]);
        }
      }
    }
  }
}

TEST(DirectGroups, OtherKeysAreTheTables) {
  for (const KeyColumn column :
       {KeyColumn{PhysicalType::kString, 1}, KeyColumn{PhysicalType::kDouble}}) {
    Groups groups({column}, NullKeys::kNever);
    VectorBuffer buffer(column.type);
    const Vector vector = buffer.view();
    Selection rows;
    select_all(kVectorRows, &rows);
    std::vector<uint32_t> found(kVectorRows);
    EXPECT_FALSE(groups.find({&vector, 1}, rows, found.data()));
    EXPECT_EQ(groups.table().size(), 1U);
  }
}

TEST(DirectGroups, FromTheFirstNullOnAllKeysAreTheTables) {
  Groups groups({{PhysicalType::kInt32}}, NullKeys::kEqual);
  VectorBuffer buffer(PhysicalType::kInt32);
  buffer.clear_nulls();
  for (uint32_t slot = 0; slot < kVectorRows; ++slot) {
    buffer.values<int32_t>()[slot] = static_cast<int32_t>(slot % 100);
  }
  const Vector vector = buffer.view_with_nulls();
  Selection rows;
  select_all(kVectorRows, &rows);
  std::vector<uint32_t> found(kVectorRows);
  EXPECT_TRUE(groups.find({&vector, 1}, rows, found.data()));
  EXPECT_EQ(found[999], 99U);
  set_bit(buffer.nulls(), 7);
  for (int round = 0; round < 2; ++round) {
    EXPECT_FALSE(groups.find({&vector, 1}, rows, found.data()));
    EXPECT_EQ(groups.table().size(), 101U);
    EXPECT_EQ(found[7], 100U);
    EXPECT_EQ(found[107], 7U);
  }
  buffer.clear_nulls();
  EXPECT_FALSE(groups.find({&vector, 1}, rows, found.data()));
  EXPECT_EQ(found[7], 7U);
}

}  // namespace
}  // namespace diptych::olap::test
