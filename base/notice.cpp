#include "base/notice.h"

#include <cstdio>
#include <iterator>

namespace diptych::base {
namespace {

constexpr fmt::string_view kPrefix = "diptych: ";
constexpr fmt::string_view kNoMemory = "(there is no memory left to say more)\n";

void write(fmt::string_view text) {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}

}  // namespace

void notify_of(fmt::string_view format, fmt::format_args arguments) noexcept {
  try {
    fmt::memory_buffer line;
    line.append(kPrefix);
    fmt::vformat_to(std::back_inserter(line), format, arguments);
    line.push_back('\n');
    write({line.data(), line.size()});
  } catch (...) {
    const std::string_view whole(format.data(), format.size());
    const std::string_view begin = whole.substr(0, whole.find('{'));
    write(kPrefix);
    write({begin.data(), begin.size()});
    if (!begin.empty() && begin.back() != ' ') write(" ");
    write(kNoMemory);
  }
}

}  // namespace diptych::base
