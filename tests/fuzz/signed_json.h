// The JSON objects that say of themselves what their checksum is: manifests, and marks of backups.

#pragma once

#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <xxhash.h>

namespace diptych::fuzz {

// Empty: it is no JSON object, or cannot be written.
inline std::string with_right_checksum(const std::string& text) {
  nlohmann::json contents = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (contents.is_discarded() || !contents.is_object()) return {};
  contents.erase("checksum");
  try {
    const std::string dumped = contents.dump();
    contents["checksum"] = fmt::format("{:016x}", XXH3_64bits(dumped.data(), dumped.size()));
    return contents.dump();
  } catch (const nlohmann::json::exception&) {
    return {};
  }
}

}  // namespace diptych::fuzz
