// Row functions: SQL functions that are computed row by row, each by a plain C++ function.
//
// They are functions whose own work outweighs a call for each row: functions of texts, logarithms,
// dates in words. Functions that profit from a vectorised kernel have their own nodes
// (expression_*.cpp).
//
// Nulls      a function sees no NULL; its result is NULL if an argument is. kConcatWs, kGreatest
//            and kLeast skip NULLs, and kFormat writes them; these have their own nodes.
// Errors     a function fails by throwing QueryFailure.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "olap/execution/expression/expression.h"
#include "olap/execution/limits/counted_text.h"
#include "olap/execution/limits/query_failure.h"

namespace diptych::olap {

// The arguments of one row.
class RowArguments {
 public:
  RowArguments(const std::vector<Vector>& vectors, uint32_t row, const StopSignal& stop)
      : vectors_(vectors), row_(row), stop_(stop) {}

  size_t size() const { return vectors_.size(); }
  bool is_null(size_t i) const { return vectors_[i].is_null(row_); }
  std::string_view text(size_t i) const { return vectors_[i].as<base::StringRef>()[row_].view(); }
  int64_t integer(size_t i) const { return vectors_[i].as<int64_t>()[row_]; }
  int32_t date(size_t i) const { return vectors_[i].as<int32_t>()[row_]; }
  int128_t wide(size_t i) const { return vectors_[i].as<int128_t>()[row_]; }
  const base::Interval& interval(size_t i) const { return vectors_[i].as<base::Interval>()[row_]; }
  double number(size_t i) const { return vectors_[i].as<double>()[row_]; }

  // For functions that read a long text.
  const StopSignal& stop() const { return stop_; }

 private:
  const std::vector<Vector>& vectors_;
  uint32_t row_;
  const StopSignal& stop_;
};

// The n of regexp_replace if the flags decide between the first match and all.
inline constexpr int64_t kRegexByFlags = INT64_MIN;

inline constexpr size_t kTextBytesMax = size_t{1} << 30;

// Fails the query if a result would be larger than kTextBytesMax.
inline void require_text_size(size_t bytes) {
  if (bytes > kTextBytesMax) fail_value("requested length too large", "54000");
}

using TextRowFunction = void (*)(const RowArguments& arguments, CountedText* result);
using IntegerRowFunction = int64_t (*)(const RowArguments& arguments);
using WideRowFunction = int128_t (*)(const RowArguments& arguments);
using NumberRowFunction = double (*)(const RowArguments& arguments);

// Each returns nullptr if the function is not one of its file's.
TextRowFunction find_text_function(Function function);
IntegerRowFunction find_integer_function(Function function);  // BIGINT, BOOLEAN, INT and DATE
NumberRowFunction find_number_function(Function function);
IntegerRowFunction find_whole_number_function(Function function);
WideRowFunction find_wide_number_function(Function function);  // DECIMAL of over 18 digits
NumberRowFunction find_degree_function(Function function);
int128_t number_of_text(const RowArguments& arguments);  // kToNumber
// The digits behind the point of to_number()'s pattern; 0 of one that fails when it is used.
size_t number_pattern_fraction(std::string_view pattern);
TextRowFunction find_number_text_function(Function function);
IntegerRowFunction find_date_function(Function function);
base::Interval age_between(int64_t to, int64_t from);  // TIMESTAMPs

// Returns nullptr, and leaves the children, if the function is not one of regular expressions.
NodePtr make_regex_function(Function function, std::vector<NodePtr>* children,
                            const QueryLimits& limits);

// to_char(TIMESTAMP or INTERVAL, pattern) and to_timestamp(text, pattern).
NodePtr make_moment_to_char(std::vector<NodePtr> children, const QueryLimits& limits);
NodePtr make_interval_to_char(std::vector<NodePtr> children, const QueryLimits& limits);
NodePtr make_moment_from_text(std::vector<NodePtr> children, const QueryLimits& limits);

// As make_regex_function() for functions of intervals.
NodePtr make_interval_function(Function function, std::vector<NodePtr>* children,
                               const QueryLimits& limits);

NodePtr make_row_function(const Expression& expression, std::vector<NodePtr> children,
                          const QueryLimits& limits);

}  // namespace diptych::olap
