// The tables of the fuzz targets' tiny databases, and the procedure that changes them.
//
//   thing    every type, nullable and not; a unique index and one that is not
//   letter   long texts; an index by hash
//   nobody   no row

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/describe.hpp>
#include <fmt/format.h>

#include "base/check.h"
#include "base/result.h"
#include "base/row_binding.h"
#include "base/schema.h"
#include "base/types.h"
#include "oltp/procedure.h"
#include "oltp/table_ref.h"
#include "oltp/transaction.h"

namespace diptych::fuzz {

using base::Nullable;

struct Thing {
  int32_t id = 0;
  Nullable<int64_t> big;
  Nullable<base::Decimal<12, 2>> money;
  base::Decimal<18, 4> wide;
  Nullable<double> real;
  bool flag = false;
  Nullable<base::Date> day;
  base::Timestamp moment;
  Nullable<base::Char<24>> code;
  base::Varchar<12> name;
  Nullable<base::Text> body;
};
BOOST_DESCRIBE_STRUCT(Thing, (), (id, big, money, wide, real, flag, day, moment, code, name, body))

struct Letter {
  int32_t id = 0;
  base::Text text;
  Nullable<base::Varchar<500>> other;
  base::Varchar<8> tag;
};
BOOST_DESCRIBE_STRUCT(Letter, (), (id, text, other, tag))

struct WriteArguments {
  int32_t id = 0;
  base::Text text;
};
BOOST_DESCRIBE_STRUCT(WriteArguments, (), (id, text))

inline constexpr std::string_view kTinyDdl =
    "CREATE TABLE thing (id INT NOT NULL PRIMARY KEY, big BIGINT, money DECIMAL(12,2), "
    "wide DECIMAL(18,4) NOT NULL, real DOUBLE, flag BOOLEAN NOT NULL, day DATE, "
    "moment TIMESTAMP NOT NULL, code CHAR(24), name VARCHAR(12) NOT NULL, body TEXT);"
    "CREATE INDEX thing_name ON thing (name, big);"
    "CREATE TABLE letter (id INT NOT NULL PRIMARY KEY, text TEXT NOT NULL, other VARCHAR(500), "
    "tag VARCHAR(8) NOT NULL);"
    "CREATE INDEX letter_tag ON letter USING hash (tag);"
    "CREATE TABLE nobody (id BIGINT NOT NULL PRIMARY KEY)";

// The same, for who has no SQL.
inline base::Catalog tiny_catalog() {
  using base::IndexKind;
  using base::Uniqueness;
  const auto table = [](std::string name, std::vector<base::BoundColumn> columns,
                        std::vector<base::IndexSchema> indexes) {
    base::TableSchema schema;
    schema.name = std::move(name);
    for (const base::BoundColumn& column : columns) {
      schema.columns.push_back({column.name, column.type, column.nullability});
    }
    schema.indexes = std::move(indexes);
    return schema;
  };
  const auto index = [](std::string name, IndexKind kind, Uniqueness uniqueness,
                        std::vector<base::ColumnId> columns) {
    return base::IndexSchema{std::move(name), {}, kind, uniqueness, std::move(columns)};
  };
  base::Catalog catalog;
  const auto add = [&](base::TableSchema schema) {
    DIPTYCH_CHECK(catalog.add_table(std::move(schema)).ok(), "its name is new");
  };
  add(table(
      "thing", base::bound_columns<Thing>(),
      {index("thing_pkey", IndexKind::kOrdered, Uniqueness::kUnique, {base::kColumn<&Thing::id>}),
       index("thing_name", IndexKind::kOrdered, Uniqueness::kNonUnique,
             {base::kColumn<&Thing::name>, base::kColumn<&Thing::big>})}));
  add(table(
      "letter", base::bound_columns<Letter>(),
      {index("letter_pkey", IndexKind::kHash, Uniqueness::kUnique, {base::kColumn<&Letter::id>}),
       index("letter_tag", IndexKind::kHash, Uniqueness::kNonUnique,
             {base::kColumn<&Letter::tag>})}));
  return catalog;
}

inline std::string text_of(int32_t i) {
  return fmt::format("{} is said of {}", std::string(static_cast<size_t>(i % 23), 'x'), i % 7);
}

inline Thing thing_of(int32_t i, const std::string& text) {
  Thing thing;
  thing.id = i;
  if (i % 5 != 0) thing.big = int64_t{i} * 1'000'003;
  if (i % 7 != 0) thing.money = base::Decimal<12, 2>{i % 90};
  thing.wide.units = i;
  if (i % 3 != 0) thing.real = i / 7.0;
  thing.flag = i % 2 != 0;
  if (i % 4 != 0) thing.day = base::Date{i};
  thing.moment = base::Timestamp{int64_t{i} * 1'000'000};
  if (i % 6 != 0) thing.code = base::Char<24>(std::string_view(text).substr(0, 24));
  thing.name = std::string_view(i % 9 == 0 ? "one of few" : "another");
  if (i % 2 != 0) thing.body = base::Text(text);
  return thing;
}

// Inserts letter `id`, changes the one before it and erases one of five; and changes two things,
// one in the block and one in pages, and erases one of five.
struct Writer {
  oltp::TableRef<Letter> letters;
  oltp::IndexRef<&Letter::id> letter_by_id;
  oltp::IndexRef<&Thing::id> thing_by_id;

  int32_t things = 0;  // with ids from 0 on

  base::Result<oltp::Nothing> operator()(oltp::Transaction& txn,
                                         const WriteArguments& write) const {
    using oltp::set;
    const std::string_view text = write.text.view();
    Letter letter{write.id, base::Text(text), {}, std::string_view("new")};
    if (write.id % 3 != 0) letter.other = base::Varchar<500>(text);
    if (auto row = txn.insert(letters, letter); !row) return row.error();
    if (auto row = txn.get_for_update<&Letter::id>(letter_by_id, write.id - 1)) {
      txn.update(*row, set<&Letter::text>(base::Text(text)),
                 set<&Letter::tag>(std::string_view(write.id % 2 == 0 ? "even" : "odd")));
    }
    if (auto row = txn.get_for_update<&Letter::id>(letter_by_id, write.id - 2)) {
      if (write.id % 5 == 0) txn.erase(*row);
    }
    for (const int32_t id : {write.id * 7 % things, things - 1 - write.id}) {
      auto row = txn.get_for_update<&Thing::id>(thing_by_id, id);
      if (!row) continue;
      if (write.id % 5 == 0) {
        txn.erase(*row);
        continue;
      }
      txn.update(*row, set<&Thing::big>(Nullable<int64_t>(write.id)),
                 set<&Thing::body>(Nullable<base::Text>(base::Text(text))),
                 set<&Thing::name>(std::string_view("changed")));
    }
    return oltp::Nothing{};
  }
};

// kNotFound, kInvalidArgument: the catalog's tables are others.
inline base::Result<Writer> bind_writer(const base::Catalog& catalog, int32_t things) {
  const auto letters = oltp::bind_table<Letter>(catalog, "letter");
  if (!letters) return letters.error();
  const auto letter_by_id = oltp::bind_index<&Letter::id>(catalog, "letter_pkey");
  if (!letter_by_id) return letter_by_id.error();
  const auto thing_by_id = oltp::bind_index<&Thing::id>(catalog, "thing_pkey");
  if (!thing_by_id) return thing_by_id.error();
  return Writer{*letters, *letter_by_id, *thing_by_id, things};
}

}  // namespace diptych::fuzz
