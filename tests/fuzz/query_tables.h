// QueryTables: a replica for queries that are executed: the tables of tests/olap/answers, with more
// rows than there, and `many`, whose rows are in blocks, in thawed columns of them and in pages.
// Every table but `empty` has nulls, duplicates, and rows that were updated and erased.

#pragma once

#include <cstdint>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "olap/query.h"
#include "tests/fuzz/sql_front_end.h"
#include "tests/fuzz/test_records.h"
#include "tests/olap/test_replica.h"

namespace diptych::olap::fuzz {

// Has the columns of the answers' table `sale`, and one of every other type.
inline constexpr std::string_view kManyTable =
    "create table many (s_id int primary key, p_id int, region varchar(10), amount decimal(10,2),"
    "  quantity bigint, day date, at timestamp, paid boolean, ratio double precision,"
    "  wide bigint not null, exact decimal(18,6), code char(6) not null, tag char(1), note text,"
    "  long_note varchar(200), small int not null)";

inline constexpr std::string_view kManyStatements[] = {
    "select small, count(*), sum(wide), max(exact), min(code) from many group by small",
    "select region, tag, sum(amount) from many where day > '2024-01-05' group by rollup (1, 2)",
    "select m.note, s.region from many m join sale s on m.p_id = s.p_id and m.small = 3",
    "select code, long_note from many where note like '%1%' or tag = 'b' order by s_id limit 9",
    "select count(distinct wide), count(distinct long_note), max(ratio) from many where paid",
    "select small, (select max(exact) from many i where i.p_id = o.small) from many o where s_id < "
    "9",
    "select p.kind, sum(m.quantity) from many m join part p using (p_id) group by p.kind",
    "select s_id, sum(small) over (partition by tag order by s_id) from many where s_id % 97 = 0",
    "select * from many where at between '2024-01-02' and '2024-01-04' and wide > 0",
    "select upper(note), code || tag, exact * 2, ratio + 1 from many where s_id in (1, 2, 1024)",
    "select date_trunc('day', at), count(*) from many group by 1 having count(*) > 2",
    "select day from many intersect select day from sale",
    // More than the time, or the memory, that there is.
    "select count(*) from many a, many b, many c where a.small + b.small < c.small",
    "select a.note, b.note, count(*) from many a, many b, many c group by a.note, b.note",
    "select a.note || b.code from many a, many b order by 1",
    "with recursive q (k) as (select 1 union all select k + 1 from q) select count(*) from q",
    "select string_agg(repeat(note, 1000), code order by wide) from many",
    "select sum(k) over (order by k) from generate_series(1, 100000000) as g (k)",
};

class QueryTables {
 public:
  QueryTables() {
    const std::string script = text_of_file(folder() / "tables.sql");
    catalog_ = catalog_of(script + std::string(kManyTable));
    for (const base::TableSchema& schema : catalog_.tables()) {
      replica_.replica().add_table(schema);
      fill(schema);
      StatisticsKeeper(&replica_.replica().table(schema.id)).refresh(&rows_.emplace_back());
    }
  }

  const base::Catalog& catalog() const { return catalog_; }
  const TableRows& rows() const { return rows_; }
  const storage::Replica& replica() const { return replica_.replica(); }

 private:
  static constexpr size_t kFewRows = 24;
  // Of each partition, more than a block.
  static constexpr size_t kManyRows = 2 * storage::kBlockRowsMin + 300;

  static std::filesystem::path folder() { return DIPTYCH_SOURCE_DIR "/tests/olap/answers"; }
  size_t below(size_t limit) { return static_cast<size_t>(random_() % limit); }

  void fill(const base::TableSchema& schema) {
    if (schema.name == "empty") return;
    const size_t first = replica_.inserted();
    if (schema.name != "many") read_rows(schema);
    const size_t given = replica_.inserted() - first;
    const size_t count = schema.name == "many" ? kManyRows : kFewRows;
    for (size_t i = 0; i < count; ++i) {
      test::Row row;
      for (const base::ColumnSchema& column : schema.columns) row.push_back(value(column));
      row.front() = test::number(static_cast<int64_t>(given + i + 1));  // its key
      replica_.insert(schema.id, row);
    }
    replica_.compact(schema.id);
    for (size_t i = first; i < replica_.inserted(); ++i) {
      const size_t column = 1 + below(schema.columns.size() - 1);
      if (below(16) == 0) {
        replica_.erase(i);
      } else if (below(40) == 0) {
        replica_.update(i, static_cast<uint16_t>(column), value(schema.columns[column]));
      }
    }
  }

  void read_rows(const base::TableSchema& schema) {
    std::ifstream file(folder() / (schema.name + ".csv"));
    for (std::string line; std::getline(file, line);) {
      std::stringstream cells(line);
      std::string cell;
      test::Row row;
      for (const base::ColumnSchema& column : schema.columns) {
        std::getline(cells, cell, '|');
        row.push_back(cell == "NULL" ? base::Value() : *base::parse_value(column.type, cell));
      }
      replica_.insert(schema.id, row);
    }
  }

  // Of few different ones; now and then the type's outermost.
  base::Value value(const base::ColumnSchema& column) {
    const base::DataType& type = column.type;
    if (column.nullability == base::Nullability::kNullable && below(8) == 0) return {};
    const auto few = static_cast<int64_t>(below(10));
    switch (type.kind) {
      case base::TypeKind::kBigInt: {
        if (column.name != "wide" || below(50) != 0) return few - 3;
        return few % 2 == 0 ? INT64_MAX : INT64_MIN;
      }
      case base::TypeKind::kDecimal: return base::DecimalValue{few * 1000 - 25, type.scale};
      case base::TypeKind::kDouble: return static_cast<double>(few) / 4 - 1;
      case base::TypeKind::kBoolean: return few < 5;
      case base::TypeKind::kDate: return base::Date{static_cast<int32_t>(19'720 + few)};
      case base::TypeKind::kTimestamp:
        return base::Timestamp{(19'720 + few) * base::kMicrosPerDay + few * 1'234'567};
      case base::TypeKind::kChar:
      case base::TypeKind::kVarchar: return text(type, few);
      default: return few;
    }
  }

  static base::Value text(const base::DataType& type, int64_t few) {
    if (few == 0) return std::string();
    std::string text(1, static_cast<char>('a' + few));
    if (type.length == 0 || type.length > 4) text += " \xc3\xa4" + std::to_string(few);
    if (few == 5 && (type.length == 0 || type.length > 100)) text += std::string(90, 'x');
    return text;
  }

  std::mt19937_64 random_{1};
  base::Catalog catalog_;
  TableRows rows_;
  test::TestReplica replica_{{.partitions = 2, .block_rows = storage::kBlockRowsMin}};
};

}  // namespace diptych::olap::fuzz
