// Packed keys against the values that they stand for, and rows by group against their definition.

#include <map>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "olap/execution/group/group_runs.h"
#include "olap/execution/key/key_packer.h"
#include "olap/execution/limits/query_failure.h"
#include "tests/olap/exec_table.h"

namespace diptych::olap::test {
namespace {

// Values that compare as the column's do.
struct TestColumn {
  std::vector<std::string> values;  // by slot; "null" where it is
  VectorBuffer buffer;
};

std::string random_text(uint32_t bytes_max, std::mt19937_64* random) {
  std::string text((*random)() % (std::min<uint32_t>(bytes_max, 15) + 1), '\0');
  for (char& byte : text) byte = "ab\0\xff"[(*random)() % 4];
  return text;
}

TestColumn random_column(KeyColumn kind, bool nulls, std::vector<std::string>* texts,
                         std::mt19937_64* random) {
  TestColumn column{{}, VectorBuffer(kind.type)};
  column.buffer.clear_nulls();
  for (uint32_t slot = 0; slot < kVectorRows; ++slot) {
    if (nulls && (*random)() % 4 == 0) {
      set_bit(column.buffer.nulls(), slot);
      column.values.emplace_back("null");
    }
    const int32_t number = static_cast<int32_t>((*random)() % 3) - 1;
    switch (kind.type) {
      case PhysicalType::kInt32: column.buffer.values<int32_t>()[slot] = number; break;
      case PhysicalType::kInt64: column.buffer.values<int64_t>()[slot] = number; break;
      case PhysicalType::kInt128: column.buffer.values<int128_t>()[slot] = number; break;
      default:
        texts->push_back(random_text(kind.text_bytes_max, random));
        column.buffer.values<base::StringRef>()[slot] = base::StringRef(texts->back());
    }
    if (column.values.size() > slot) continue;
    column.values.push_back(kind.type == PhysicalType::kString ? "text " + texts->back()
                                                               : std::to_string(number));
  }
  return column;
}

Selection random_selection(std::mt19937_64* random) {
  Selection selection;
  select_all(kVectorRows, &selection);
  if ((*random)() % 4 == 0) return selection;
  uint64_t bits[kVectorWords];
  for (uint64_t& word : bits) word = (*random)() | (*random)();
  select_bits(bits, kVectorRows, &selection);
  return selection;
}

std::string value_at(const Vector& vector, uint32_t slot) {
  if (vector.is_null(slot)) return "null";
  switch (vector.type) {
    case PhysicalType::kInt32: return std::to_string(vector.as<int32_t>()[slot]);
    case PhysicalType::kInt64: return std::to_string(vector.as<int64_t>()[slot]);
    case PhysicalType::kInt128:
      return std::to_string(static_cast<int64_t>(vector.as<int128_t>()[slot]));
    default: return "text " + std::string(vector.as<base::StringRef>()[slot].view());
  }
}

TEST(KeyPackerModel, KeysAreEqualWhereValuesAreAndComeBack) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const KeyColumn kinds[] = {
      {PhysicalType::kInt32},     {PhysicalType::kInt64},     {PhysicalType::kInt128},
      {PhysicalType::kString},    {PhysicalType::kString, 1}, {PhysicalType::kString, 3},
      {PhysicalType::kString, 4}, {PhysicalType::kString, 7}, {PhysicalType::kString, 8}};
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> texts;
    texts.reserve(size_t{8} * kVectorRows);  // vectors point to them
    const bool nulls = random() % 2 == 0;
    std::vector<TestColumn> columns;
    std::vector<KeyColumn> chosen;
    std::vector<Vector> vectors;
    for (size_t c = 0; c < 1 + random() % 7; ++c) {
      chosen.push_back(kinds[random() % std::size(kinds)]);
      columns.push_back(random_column(chosen.back(), nulls, &texts, &random));
    }
    for (const TestColumn& column : columns) {
      vectors.push_back(nulls ? column.buffer.view_with_nulls() : column.buffer.view());
    }
    const Selection selection = random_selection(&random);
    std::string what;
    for (const KeyColumn& kind : chosen) {
      what += fmt::format("{}/{} ", static_cast<int>(kind.type), kind.text_bytes_max);
    }
    SCOPED_TRACE(testing::Message() << "columns (type/longest text) " << what);
    const KeyPacker packer(chosen, nulls ? NullKeys::kEqual : NullKeys::kNever);
    // What was there must not matter.
    std::vector<uint64_t> keys(size_t{kVectorRows} * packer.words(), random());
    std::vector<uint64_t> hashes(kVectorRows);
    packer.pack(vectors, selection, keys.data(), hashes.data());

    std::map<std::vector<std::string>, uint32_t> firsts;
    for (uint32_t k = 0; k < selection.count; ++k) {
      std::vector<std::string> values;
      for (const TestColumn& column : columns) values.push_back(column.values[selection.row(k)]);
      const uint64_t* const key = keys.data() + size_t{k} * packer.words();
      const auto [first, is_new] = firsts.try_emplace(values, k);
      if (!is_new) {
        ASSERT_TRUE(packer.equal_keys(key, keys.data() + size_t{first->second} * packer.words()));
        ASSERT_EQ(hashes[k], hashes[first->second]);
      }
      const auto other = firsts.begin();
      if (other->first == values) continue;
      ASSERT_FALSE(packer.equal_keys(key, keys.data() + size_t{other->second} * packer.words()));
      ASSERT_NE(hashes[k], hashes[other->second]);
    }
    for (size_t c = 0; c < columns.size(); ++c) {
      VectorBuffer results(chosen[c].type);
      const Vector back = packer.unpack(c, keys.data(), 0, selection.count, &results);
      for (uint32_t k = 0; k < selection.count; ++k) {
        ASSERT_EQ(value_at(back, k), columns[c].values[selection.row(k)]);
      }
    }
  }
}

TEST(KeyPackerModel, ATextOverItsTypesLengthFailsTheQuery) {
  for (const uint32_t bytes_max : {1U, 3U, 5U, 7U}) {
    const KeyColumn columns[] = {{PhysicalType::kString, bytes_max}};
    const KeyPacker packer(columns, NullKeys::kEqual);
    VectorBuffer buffer(PhysicalType::kString);
    buffer.clear_nulls();
    Selection one;
    select_all(1, &one);
    std::vector<uint64_t> key(packer.words());
    buffer.values<base::StringRef>()[0] = base::StringRef("12345678");
    EXPECT_THROW(packer.pack({{buffer.view()}}, one, key.data(), nullptr), QueryFailure);
    // Of a null the bytes mean nothing.
    set_bit(buffer.nulls(), 0);
    packer.pack({{buffer.view_with_nulls()}}, one, key.data(), nullptr);
    VectorBuffer back(PhysicalType::kString);
    EXPECT_TRUE(packer.unpack(0, key.data(), 0, 1, &back).is_null(0));
  }
}

TEST(GroupRunsModel, HaveEachRowOnceInItsGroup) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    const uint64_t groups_max = 1 + random() % GroupRuns::kGroupsMax;
    const Selection selection = random_selection(&random);
    std::vector<uint32_t> groups(kVectorRows);
    std::map<uint32_t, std::vector<uint16_t>> expected;
    for (uint32_t k = 0; k < selection.count; ++k) {
      groups[k] = static_cast<uint32_t>(random() % groups_max);
      expected[groups[k]].push_back(static_cast<uint16_t>(selection.row(k)));
    }
    GroupRuns runs;
    runs.find(selection, groups.data());
    std::map<uint32_t, std::vector<uint16_t>> found;
    runs.for_runs([&](uint32_t group, std::span<const uint16_t> slots) {
      found[group].assign(slots.begin(), slots.end());
    });
    ASSERT_EQ(found, expected);
  }
}

}  // namespace
}  // namespace diptych::olap::test
