#include "base/result.h"

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
  }
  return "unknown error";
}

std::string Error::to_string() const {
  std::string text(error_code_name(code));
  return message.empty() ? text : text + ": " + message;
}

Error Error::within(std::string_view context) const {
  return {code, message.empty() ? std::string(context) : std::string(context) + ": " + message};
}

}  // namespace diptych::base
