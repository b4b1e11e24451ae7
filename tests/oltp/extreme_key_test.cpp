// The least and the greatest keys of every type are keys as others: in each kind of index, alone
// and twice in one key, with one worker and with several.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {
namespace {

using base::ErrorCode;
using base::TypeKind;

struct Numbered {
  int64_t number;
};

template <size_t... kPart>
constexpr size_t number_bytes(std::index_sequence<kPart...>) {
  return IndexRef<(static_cast<void>(kPart), &Numbered::number)...>::kNumberBytes;
}
// Of more numbers than a key has there is no key in a procedure's own code: none would fit.
static_assert(number_bytes(std::make_index_sequence<32>()) == base::kKeyBytesMax);
static_assert(number_bytes(std::make_index_sequence<33>()) == 0);

struct Extremes {
  base::DataType type;
  std::vector<base::Value> ascending;
};

template <class Integer>
std::vector<base::Value> integers(Integer) {
  using Limits = std::numeric_limits<Integer>;
  std::vector<base::Value> values;
  for (const int64_t value : {int64_t{Limits::min()}, int64_t{-1}, int64_t{0}, int64_t{1},
                              int64_t{Limits::max()} - 1, int64_t{Limits::max()}}) {
    values.emplace_back(value);
  }
  return values;
}

std::vector<base::Value> texts(size_t most) {
  const std::string zero(1, '\0');
  std::vector<base::Value> values;
  for (const std::string& text :
       {std::string(), zero, zero + zero, std::string(most, '\0'), zero + "\xff", std::string("a"),
        "a" + zero, std::string("a\xff"), std::string("\xff"), std::string(most, '\xff')}) {
    values.emplace_back(text);
  }
  return values;
}

std::vector<Extremes> every_type() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kLeast = std::numeric_limits<double>::denorm_min();
  const int64_t most = 999'999'999'999'999'999;
  std::vector<Extremes> all = {
      {{.kind = TypeKind::kInt}, integers(int32_t{})},
      {{.kind = TypeKind::kBigInt}, integers(int64_t{})},
      {{.kind = TypeKind::kDate}, {}},
      {{.kind = TypeKind::kTimestamp}, {}},
      {{.kind = TypeKind::kDecimal, .precision = 18},
       {base::DecimalValue{-most, 0}, base::DecimalValue{0, 0}, base::DecimalValue{most, 0}}},
      {{.kind = TypeKind::kDouble}, {-kInfinity, -kLeast, 0.0, kLeast, kInfinity, NAN}},
      {{.kind = TypeKind::kBoolean}, {false, true}},
      {{.kind = TypeKind::kVarchar, .length = 7}, texts(7)},
      {{.kind = TypeKind::kVarchar, .length = 40}, texts(40)},
      {{.kind = TypeKind::kVarchar}, texts(60)},
  };
  for (const base::Value& value : all[0].ascending) {
    all[2].ascending.emplace_back(base::Date{static_cast<int32_t>(std::get<int64_t>(value))});
  }
  for (const base::Value& value : all[1].ascending) {
    all[3].ascending.emplace_back(base::Timestamp{std::get<int64_t>(value)});
  }
  return all;
}

// A table whose primary key is one column, or two of the type, and nothing else.
class Keys {
 public:
  Keys(const Extremes& extremes, base::IndexKind kind, size_t parts, uint32_t workers)
      : ascending_(extremes.ascending) {
    base::TableSchema schema;
    schema.name = "t";
    for (size_t i = 0; i < parts; ++i) {
      schema.columns.push_back(
          {"k" + std::to_string(i), extremes.type, base::Nullability::kNotNull});
    }
    schema.indexes = {index("t_pkey", kind, base::Uniqueness::kUnique, {0})};
    if (parts == 2) schema.indexes[0].columns.emplace_back(1);
    EXPECT_TRUE(catalog_.add_table(std::move(schema)));
    EngineOptions options;
    options.placement.threads = workers;
    engine_ = std::make_unique<Engine>(&catalog_, options, &queue_);
    script_ = engine_->register_procedure(
        define_procedure<Script, Nothing>("script", [](Transaction& txn, const Script& script) {
          (*script.body)(txn);
          return base::Result<Nothing>(Nothing{});
        }));
  }

  void run(const std::function<void(Transaction&)>& body) {
    const Script script{&body};
    Request request;
    request.procedure = script_;
    request.arguments = std::as_bytes(std::span(&script, 1));
    Request* const requests[] = {&request};
    EXPECT_TRUE(engine_->run_batch(requests).again.empty());
    EXPECT_TRUE(request.outcome) << request.outcome.error().to_string();
    engine_->check_indexes();
  }

  // One after the other: not there, inserted once, found; then all of them in their order.
  void expect_all_as_others() {
    const base::IndexSchema& index = catalog_.table(kTable).primary_key();
    for (const base::Value& value : ascending_) {
      SCOPED_TRACE(base::to_string(value));
      const std::vector<uint64_t> words = row_of(value);
      const auto* const row = reinterpret_cast<const std::byte*>(words.data());
      base::Key key;
      base::KeyEncoder(layout(), index.columns).encode(row, &key);
      const auto is_there = [&](Transaction& txn) {
        return txn.find_unique(index.id, key, {}).ok();
      };
      run([&](Transaction& txn) {
        EXPECT_FALSE(is_there(txn));
        EXPECT_TRUE(txn.insert_row(kTable, row));
        const auto again = txn.insert_row(kTable, row);
        EXPECT_TRUE(!again && again.code() == ErrorCode::kAlreadyExists);
        EXPECT_TRUE(is_there(txn));
      });
      run([&](Transaction& txn) { EXPECT_TRUE(is_there(txn)); });
    }
    if (index.kind == base::IndexKind::kHash) return;
    run([&](Transaction& txn) {
      for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
        std::vector<base::Value> seen;
        const auto visit = [&](const RowHandle&, const std::byte* row) {
          seen.push_back(base::load_value(layout().columns[0], row));
          return true;
        };
        EXPECT_TRUE(txn.scan_range(index.id, {}, {.direction = direction}, {}, RowVisitor(visit)));
        if (direction == Direction::kBackward) std::reverse(seen.begin(), seen.end());
        ASSERT_EQ(seen.size(), ascending_.size());
        for (size_t i = 0; i < seen.size(); ++i) {
          EXPECT_EQ(base::to_string(seen[i]), base::to_string(ascending_[i]));
        }
      }
    });
  }

 private:
  static constexpr base::TableId kTable{0};
  struct Script {
    const std::function<void(Transaction&)>* body;
  };

  base::RowLayout layout() const { return base::RowLayout(catalog_.table(kTable)); }
  std::vector<uint64_t> row_of(const base::Value& value) const {
    const base::RowLayout of = layout();
    std::vector<uint64_t> words((of.bytes + 7) / 8);
    for (const base::ColumnLayout& column : of.columns) {
      EXPECT_TRUE(base::store_value(column, value, reinterpret_cast<std::byte*>(words.data())));
    }
    return words;
  }

  const std::vector<base::Value> ascending_;
  base::Catalog catalog_;
  propagation::UpdateQueue queue_;
  std::unique_ptr<Engine> engine_;
  base::ProcedureId script_;
};

TEST(ExtremeKey, IsOneAsOthers) {
  for (const Extremes& extremes : every_type()) {
    SCOPED_TRACE(extremes.type.to_string());
    for (const auto kind : {base::IndexKind::kHash, base::IndexKind::kOrdered}) {
      for (const size_t parts : {1, 2}) {
        for (const uint32_t workers : {1, 2}) {
          Keys(extremes, kind, parts, workers).expect_all_as_others();
          if (HasFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace diptych::oltp::test
