// ResultRows: row-by-row access to a result's table (result_table.h), for callers that read few
// values and want them as base::Value. Values are made when they are read and are not cached.
//
//   for (const auto& row : result->rows) print(row[0], row[1]);
//
// A row refers to the table, which the ResultRows keeps alive; a value belongs to the caller.
//
// Threads    any number of readers.

#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "olap/result_table.h"

namespace diptych::olap {

// Iterates over the elements that `Owner` gives by number.
template <class Owner, class Element>
class ResultIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Element;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = Element;

  ResultIterator(const Owner* owner, size_t at) : owner_(owner), at_(at) {}

  Element operator*() const { return (*owner_)[at_]; }
  ResultIterator& operator++() {
    ++at_;
    return *this;
  }
  ResultIterator operator++(int) {
    ResultIterator before = *this;
    ++at_;
    return before;
  }
  bool operator==(const ResultIterator& other) const { return at_ == other.at_; }

 private:
  const Owner* owner_;
  size_t at_;
};

class ResultRow {
 public:
  using const_iterator = ResultIterator<ResultRow, base::Value>;

  ResultRow(const ResultTable& table, uint64_t row) : table_(&table), row_(row) {}

  size_t size() const { return table_->columns().size(); }
  base::Value operator[](size_t column) const { return table_->value(row_, column); }
  base::Value at(size_t column) const { return (*this)[column]; }
  const_iterator begin() const { return {this, 0}; }
  const_iterator end() const { return {this, size()}; }
  operator std::vector<base::Value>() const { return {begin(), end()}; }

 private:
  const ResultTable* table_;
  uint64_t row_;
};

class ResultRows {
 public:
  using const_iterator = ResultIterator<ResultRows, ResultRow>;
  // Queries with the same text share a result, and an export to Arrow may outlive it.
  using Shared = std::shared_ptr<const ResultTable>;  // shared_ptr: several owners, see above

  ResultRows() = default;
  explicit ResultRows(ResultTable table) : table_(new const ResultTable(std::move(table))) {}

  // The same data by columns, shared with copies and exports of the result; nullptr if the result
  // was never filled.
  const Shared& table() const { return table_; }

  size_t size() const { return table_ == nullptr ? 0 : table_->row_count(); }
  bool empty() const { return size() == 0; }
  // at() and [] both stop the program if there is no such row.
  ResultRow operator[](size_t row) const {
    DIPTYCH_CHECK(row < size(), "a row of the result");
    return {*table_, row};
  }
  ResultRow at(size_t row) const { return (*this)[row]; }
  ResultRow front() const { return (*this)[0]; }
  const_iterator begin() const { return {this, 0}; }
  const_iterator end() const { return {this, size()}; }
  operator std::vector<std::vector<base::Value>>() const { return {begin(), end()}; }

 private:
  Shared table_;
};

}  // namespace diptych::olap
