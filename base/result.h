// Result<T>: a value, or an error that a person or a program can act on.
//
// Expected outcomes (conflict, not found, overloaded) carry a code and no text, so that they cost
// no allocation. Bad input, files and machines carry a message that says what was wrong, where,
// and what to do. Our own bugs are not errors but checks (base/check.h).

#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace diptych::base {

enum class ErrorCode : uint8_t {
  kConflict,         // another transaction wrote the row first; retrying may succeed
  kNotFound,         // no such row, table, procedure or file
  kAlreadyExists,    // unique key, table, procedure or file is taken
  kAborted,          // the procedure decided to abort; the message is its reason
  kOverloaded,       // a bounded queue or pool is full; try later
  kInvalidArgument,  // a value of the caller is out of range or of the wrong type
  kSyntaxError,      // SQL, CSV or configuration text cannot be parsed
  kUnsupported,      // understood, but not supported (yet)
  kNotNull,          // a null where the schema has NOT NULL
  kIo,               // the operating system refused: the message has errno's text and the path
  kNoSpace,          // the disk is full
  kCorrupt,          // a file's checksum or structure is wrong
  kOutOfMemory,
  kInUse,             // another process, or this one, holds it
  kClosed,            // the database is closing or closed
  kCancelled,         // stopped by the caller
  kDeadlineExceeded,  // its time was over before it was done
};
inline constexpr size_t kErrorCodes = static_cast<size_t>(ErrorCode::kDeadlineExceeded) + 1;

// The code as lower-case words, e.g. "not found".
std::string_view error_code_name(ErrorCode code) noexcept;

// SQLSTATE: the five characters by which programs tell the errors of SQL apart, as PostgreSQL
// assigns them: "42703" is an unknown column. An empty one stands for its error code's general one.
class SqlState {
 public:
  constexpr SqlState() = default;
  consteval SqlState(const char (&text)[6]) {  // NOLINT: by design
    for (size_t i = 0; i < sizeof text_; ++i) text_[i] = text[i];
  }
  constexpr std::string_view view() const {
    return text_[0] == 0 ? std::string_view() : std::string_view(text_, sizeof text_);
  }

 private:
  char text_[5] = {};
};

struct [[nodiscard]] Error {
  ErrorCode code;
  SqlState state;         // empty: see sqlstate()
  uint32_t position = 0;  // in the SQL text: the character, from 1; 0 where there is no one place
  std::string message;

  Error(ErrorCode error_code) : code(error_code) {}  // NOLINT: an expected outcome, without text
  Error(ErrorCode error_code, std::string text) : code(error_code), message(std::move(text)) {}
  Error(ErrorCode error_code, SqlState sql_state, std::string text)
      : code(error_code), state(sql_state), message(std::move(text)) {}

  // The error's own SQLSTATE, or the one that stands for its code.
  std::string_view sqlstate() const noexcept;

  // "code name: message". Where there is no message, the name alone, or of kClosed what is closed.
  std::string to_string() const;

  // The same error with "context: " in front of its message, or the context as its message.
  Error within(std::string_view context) const;
};

// std::logic_error with the error's text.
[[noreturn]] void throw_as_value(const Error& error);
// std::logic_error: there is no error to read.
[[noreturn]] void throw_as_error();

// (A union of its own rather than a std::variant, whose templates every source with procedures
// would instantiate for each of its results.)
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : ok_(true), value_(std::move(value)) {}       // NOLINT: by design
  Result(Error error) : ok_(false), error_(std::move(error)) {}  // NOLINT: by design
  Result(ErrorCode code) : Result(Error(code)) {}                // NOLINT: by design
  Result(const Result& other) : ok_(other.ok_) {
    if (ok_) {
      new (&value_) T(other.value_);
    } else {
      new (&error_) Error(other.error_);
    }
  }
  Result(Result&& other) noexcept : ok_(other.ok_) { take(std::move(other)); }
  Result& operator=(Result other) noexcept {
    clear();
    ok_ = other.ok_;
    take(std::move(other));
    return *this;
  }
  ~Result() { clear(); }

  bool ok() const noexcept { return ok_; }
  explicit operator bool() const noexcept { return ok(); }

  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(value()); }  // no reference into what goes
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // Who reads it only after ok() never sees the exception; a stored procedure that does not is
  // aborted by it, and the database lives.
  T& value() {
    if (!ok()) [[unlikely]]
      throw_as_value(error_);
    return value_;
  }
  const T& value() const {
    if (!ok()) [[unlikely]]
      throw_as_value(error_);
    return value_;
  }
  // Likewise where there is none.
  const Error& error() const {
    if (ok()) [[unlikely]]
      throw_as_error();
    return error_;
  }
  ErrorCode code() const { return error().code; }

 private:
  // Into nothing: its value or error is not there yet, or any more.
  void take(Result&& other) noexcept {
    if (ok_) {
      new (&value_) T(std::move(other.value_));
    } else {
      new (&error_) Error(std::move(other.error_));
    }
  }
  void clear() noexcept {
    if (ok_) {
      value_.~T();
    } else {
      error_.~Error();
    }
  }

  bool ok_;
  union {
    T value_;
    Error error_;
  };
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: by design
  Result(ErrorCode code) : Result(Error(code)) {}    // NOLINT: by design

  bool ok() const noexcept { return !error_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }
  const Error& error() const {
    if (ok()) [[unlikely]]
      throw_as_error();
    return *error_;
  }
  ErrorCode code() const { return error().code; }

 private:
  std::optional<Error> error_;
};

}  // namespace diptych::base
