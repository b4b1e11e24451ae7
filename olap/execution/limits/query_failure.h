// QueryFailure: the exception with which kernels end a query. It is thrown on the slow path only
// (an overflow in a live row, cancellation). batch_runner.cpp catches it and turns it into the
// query's Result. The front end catches it where it folds constants and tries predicates on a
// sample.

#pragma once

#include <exception>
#include <string>
#include <utility>

#include "base/result.h"

namespace diptych::olap {

class QueryFailure : public std::exception {
 public:
  explicit QueryFailure(base::Error error) : error_(std::move(error)) {}
  const base::Error& error() const { return error_; }
  const char* what() const noexcept override { return error_.message.c_str(); }

 private:
  base::Error error_;
};

// The messages of evaluation errors.
inline constexpr const char* kIntegerOutOfRange = "integer out of range";  // INT
inline constexpr const char* kBigIntOutOfRange = "bigint out of range";
inline constexpr const char* kIntervalOutOfRange = "interval out of range";  // 22008
inline constexpr const char* kDecimalOutOfRange = "decimal out of range: more than 38 digits";
inline constexpr const char* kDivisionByZero = "division by zero";

[[noreturn]] inline void fail_query(base::ErrorCode code, std::string message,
                                    base::SqlState state = {}) {
  throw QueryFailure(base::Error(code, state, std::move(message)));
}

// Ends the query because its plan breaks the contract of olap/plan.h. That is a bug of the front
// end, but no reason to stop the engine.
[[noreturn]] inline void fail_plan(const char* reason) {
  fail_query(base::ErrorCode::kUnsupported,
             std::string("the query's plan cannot be executed: ") + reason);
}
inline void require_plan(bool condition, const char* reason) {
  if (!condition) fail_plan(reason);
}

// Ends the query because an expression cannot compute a value: by default, because the value is out
// of its type's range (22003).
[[noreturn]] inline void fail_value(std::string message, base::SqlState state = "22003") {
  const bool division = message == kDivisionByZero;
  fail_query(base::ErrorCode::kInvalidArgument, std::move(message),
             division ? base::SqlState("22012") : state);
}
// Of a literal: kernels call it, and are not inlined if they have to make the string themselves.
[[noreturn, gnu::cold, gnu::noinline]] inline void fail_value(const char* message,
                                                              base::SqlState state = "22003") {
  fail_value(std::string(message), state);
}

}  // namespace diptych::olap
