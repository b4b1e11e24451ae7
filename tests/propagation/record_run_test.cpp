#include "propagation/export/record_run.h"

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/storage/every_type_table.h"

namespace diptych::propagation {
namespace {

using base::ColumnId;
using base::RowId;
using base::Vid;

// A run of updates that is right, of VIDs 5 to 7, and damage done to it.
class DamagedRun : public testing::Test {
 protected:
  DamagedRun() {
    const TestRow row = rows_.row();
    set_.append_insert(Vid(5), RowId(1), layout_, row.bytes());
    set_.append_update(Vid(6), RowId(1), layout_, row.bytes(), {layout_, {&number_, 1}});
    set_.append_delete(Vid(7), RowId(1));
    const UpdateSet::Chunk& chunk = set_.chunks().front();
    words_.resize(chunk.used / 8);
    std::memcpy(words_.data(), chunk.data, chunk.used);
  }

  using TestRow = storage::test::TestRow;

  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(words_)); }
  UpdateRecord& record(int number) {
    auto* found = reinterpret_cast<UpdateRecord*>(words_.data());
    for (; number != 0; --number) found = const_cast<UpdateRecord*>(found->next());
    return *found;
  }
  std::string problem() const { return problem(Vid(4), Vid(7), bytes()); }
  static std::string problem(Vid after, Vid last, std::span<const std::byte> records) {
    const auto checked = check_records(records, after, last);
    return checked.ok() ? std::string() : checked.error().message;
  }
  // What is wrong with the run once one of its records is changed so.
  std::string after(int number, const std::function<void(UpdateRecord*)>& change) {
    const std::vector<uint64_t> whole = words_;
    change(&record(number));
    std::string found = problem();
    words_ = whole;
    return found;
  }

  const base::TableSchema schema_ = storage::test::every_type_schema();
  const base::RowLayout layout_{schema_};
  const ColumnId number_ = *schema_.find_column("bigint");
  storage::test::RandomRows rows_{layout_, 1};
  UpdateChunks memory_;
  UpdateSet set_{&memory_};
  std::vector<uint64_t> words_;
};

TEST_F(DamagedRun, IsRefusedWhereAVidIsOfAnotherBatch) {
  EXPECT_EQ(problem(), "");
  EXPECT_NE(problem(Vid(5), Vid(7), bytes()).find("another batch"), std::string::npos);
  EXPECT_NE(problem(Vid(4), Vid(6), bytes()).find("another batch"), std::string::npos);
}

TEST_F(DamagedRun, IsRefusedWhereVidsAreNotInOrder) {
  EXPECT_EQ(after(1, [](UpdateRecord* record) { record->vid = Vid(5); }), "");
  EXPECT_EQ(after(1, [](UpdateRecord* record) { record->vid = Vid(7); }), "");
  const std::string back = after(2, [](UpdateRecord* record) { record->vid = Vid(5); });
  EXPECT_NE(back.find("another batch"), std::string::npos);
}

TEST_F(DamagedRun, IsRefusedWhereARecordHasNotTheBytesThatItNeeds) {
  for (const uint32_t less : {1U, 4U}) {  // the next one would not be aligned
    const std::string what = after(0, [&](UpdateRecord* record) { record->bytes -= less; });
    EXPECT_NE(what.find("bytes"), std::string::npos) << what;
  }
  // Of the last one, that there is none behind it does not make it right.
  const auto* const end = reinterpret_cast<const std::byte*>(record(1).next());
  record(1).bytes -= 4;
  EXPECT_NE(problem(Vid(4), Vid(7), {bytes().data(), end - 4}), "");
  record(1).bytes += 4;
  EXPECT_EQ(problem(Vid(4), Vid(7), {bytes().data(), end}), "");
  EXPECT_NE(after(2, [](UpdateRecord* record) { record->bytes += 8; }), "");
  EXPECT_NE(after(2, [](UpdateRecord* record) { record->bytes -= 8; }), "");
  EXPECT_NE(after(2, [](UpdateRecord* record) { record->bytes = 0; }), "");
  EXPECT_NE(problem(Vid(4), Vid(7), bytes().first(bytes().size() - 8)), "");
  // An update's columns lie within it.
  EXPECT_NE(after(2, [](UpdateRecord* record) { record->column_count = 1; }), "");
}

TEST_F(DamagedRun, IsRefusedWhereARecordIsOfNoType) {
  const auto change = [](UpdateRecord* record) { record->type = static_cast<UpdateType>(4); };
  EXPECT_NE(after(0, change), "");
}

TEST_F(DamagedRun, HasNoRowThatIsShorterThanItsTableHas) {
  base::TableSchema numbers;
  for (const char* const name : {"a", "b", "c"}) {
    numbers.columns.push_back({name, {base::TypeKind::kBigInt}, base::Nullability::kNotNull});
  }
  const base::RowLayout three(numbers);
  numbers.columns.pop_back();
  const base::RowLayout two(numbers);
  const std::vector<std::byte> row(three.bytes);
  for (const bool is_insert : {true, false}) {
    const auto append = [&](const base::RowLayout& layout) -> const UpdateRecord& {
      return is_insert ? *set_.append_insert(Vid(8), RowId(2), layout, row.data())
                       : *set_.append_replace(Vid(8), RowId(2), layout, row.data());
    };
    EXPECT_TRUE(check_record(append(three), three).ok());
    EXPECT_FALSE(check_record(append(two), three).ok());
  }
}

TEST_F(DamagedRun, HasNoUpdateWithoutColumnsOrWithoutTheirCells) {
  UpdateRecord& update = record(1);
  EXPECT_TRUE(check_record(update, layout_).ok());
  update.bytes -= 8;
  EXPECT_FALSE(check_record(update, layout_).ok());
  update.bytes += 8;
  update.column_count = 0;
  EXPECT_FALSE(check_record(update, layout_).ok());
}

// The Text of a long string that an insert has, and one that an update has.
TEST_F(DamagedRun, HasNoStringThatLiesOutsideOfItsRecordsStrings) {
  const ColumnId text = *schema_.find_column("text");
  TestRow row = rows_.row();
  row.set(text, std::string(20, 'a'));
  for (const bool is_insert : {true, false}) {
    UpdateRecord* const record =
        is_insert
            ? set_.append_insert(Vid(8), RowId(2), layout_, row.bytes())
            : set_.append_update(Vid(8), RowId(2), layout_, row.bytes(), {layout_, {&text, 1}});
    const size_t offset = is_insert ? layout_.column(text).offset : sizeof(ColumnId);
    std::byte* const cell = reinterpret_cast<std::byte*>(record + 1) + offset;
    base::Text right;
    std::memcpy(&right, cell, sizeof right);
    const auto holds = [&](int64_t moved, uint32_t size) {
      base::Text changed = right;
      changed.data = reinterpret_cast<const char*>(reinterpret_cast<uintptr_t>(right.data) + moved);
      changed.size = size;
      std::memcpy(cell, &changed, sizeof changed);
      return check_record(*record, layout_).ok();
    };
    const auto rest =
        static_cast<uint32_t>(record->bytes - reinterpret_cast<uintptr_t>(right.data));
    EXPECT_TRUE(holds(0, right.size));
    EXPECT_TRUE(holds(0, rest));
    EXPECT_TRUE(holds(rest, 0));
    EXPECT_FALSE(holds(int64_t{rest} + 1, 0));
    EXPECT_FALSE(holds(0, rest + 1));
    EXPECT_FALSE(holds(0, UINT32_MAX));
    EXPECT_FALSE(holds(rest, 1));
    EXPECT_FALSE(holds(int64_t{rest} + 1, 1));
    EXPECT_FALSE(holds(-int64_t{layout_.column(text).bytes}, 8)) << "it has its own cell's bytes";
  }
}

}  // namespace
}  // namespace diptych::propagation
