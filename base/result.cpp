#include "base/result.h"

#include <stdexcept>

namespace diptych::base {

std::string_view error_code_name(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kConflict: return "conflict";
    case ErrorCode::kNotFound: return "not found";
    case ErrorCode::kAlreadyExists: return "already exists";
    case ErrorCode::kAborted: return "aborted";
    case ErrorCode::kOverloaded: return "overloaded";
    case ErrorCode::kInvalidArgument: return "invalid argument";
    case ErrorCode::kSyntaxError: return "syntax error";
    case ErrorCode::kUnsupported: return "unsupported";
    case ErrorCode::kNotNull: return "null not allowed";
    case ErrorCode::kIo: return "input/output error";
    case ErrorCode::kNoSpace: return "no space left";
    case ErrorCode::kCorrupt: return "corrupt";
    case ErrorCode::kOutOfMemory: return "out of memory";
    case ErrorCode::kInUse: return "in use";
    case ErrorCode::kClosed: return "closed";
    case ErrorCode::kCancelled: return "cancelled";
    case ErrorCode::kDeadlineExceeded: return "deadline exceeded";
  }
  return "unknown error";
}

std::string_view Error::sqlstate() const noexcept {
  if (!state.view().empty()) return state.view();
  switch (code) {
    case ErrorCode::kConflict: return "40001";
    case ErrorCode::kNotFound: return "P0002";
    case ErrorCode::kAlreadyExists: return "23505";
    case ErrorCode::kAborted: return "P0001";
    case ErrorCode::kOverloaded: return "53000";
    case ErrorCode::kInvalidArgument: return "22023";
    case ErrorCode::kSyntaxError: return "42601";
    case ErrorCode::kUnsupported: return "0A000";
    case ErrorCode::kNotNull: return "23502";
    case ErrorCode::kIo: return "58030";
    case ErrorCode::kNoSpace: return "53100";
    case ErrorCode::kCorrupt: return "XX001";
    case ErrorCode::kOutOfMemory: return "53200";
    case ErrorCode::kInUse: return "55006";
    case ErrorCode::kClosed: return "57P01";
    case ErrorCode::kCancelled: return "57014";
    case ErrorCode::kDeadlineExceeded: return "57014";
  }
  return "XX000";
}

std::string Error::to_string() const {
  std::string text(error_code_name(code));
  if (!message.empty()) return text + ": " + message;
  if (code == ErrorCode::kClosed) return text + ": the database was closed, or is being closed";
  return text;
}

Error Error::within(std::string_view context) const {
  Error error = *this;
  error.message = message.empty() ? std::string(context) : std::string(context) + ": " + message;
  return error;
}

void throw_as_value(const Error& error) {
  throw std::logic_error("the value of a Result is read that is an error: " + error.to_string());
}

void throw_as_error() {
  throw std::logic_error("the error of a Result is read that is a value");
}

}  // namespace diptych::base
