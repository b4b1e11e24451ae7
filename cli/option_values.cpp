#include "cli/option_values.h"

#include <filesystem>

#include "cli/file.h"

namespace diptych::cli {
namespace {

namespace fs = std::filesystem;

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

}  // namespace

CLI::Validator input_file() {
  const auto check = [](std::string& path) -> std::string {
    std::error_code ignored;
    if (path == kStandardInput || (fs::exists(path, ignored) && !is_folder(path))) return {};
    return fmt::format("there is no file \"{}\"", path);
  };
  return {check, ""};
}

CLI::Validator existing_directory() {
  const auto check = [](std::string& path) -> std::string {
    return is_folder(path) ? "" : fmt::format("there is no directory \"{}\"", path);
  };
  return {check, ""};
}

CLI::Validator new_directory() {
  const auto check = [](std::string& path) -> std::string {
    // Without the slash that may stand at its end.
    const fs::path parent = fs::path(path + "/").parent_path().parent_path();
    if (parent.empty() || is_folder(parent)) return {};
    return fmt::format("there is no directory \"{}\" to make \"{}\" in", parent.string(), path);
  };
  return {check, ""};
}

CLI::Validator output_file() {
  return {[](std::string& path) { return check_output_path(path); }, ""};
}

}  // namespace diptych::cli
