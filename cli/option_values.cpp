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
    if (is_folder(path)) return fmt::format("\"{}\" is a directory", path);
    if (path == kStandardInput || fs::exists(path, ignored)) return {};
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
    if (path.empty()) return "the path is empty";
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

void add_database_path(CLI::App& app, std::string* path) {
  app.add_option("PATH", *path, "Directory of the database")
      ->required()
      ->check(existing_directory())
      ->type_name("");
}

CLI::Option* add_procedures_option(CLI::App& app, std::vector<std::string>* libraries) {
  return app
      .add_option("--procedures", *libraries, "Library of procedures; may be given several times")
      ->type_name("LIB.so")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(input_file());
}

void add_mebibytes(CLI::App& app, const char* name, const char* what, size_t* bytes) {
  constexpr uint64_t kMebibytesMax = uint64_t{1} << 30;
  app.add_option_function<uint64_t>(
         name, [bytes](uint64_t mebibytes) { *bytes = mebibytes << 20; }, what)
      ->transform(number_between(uint64_t{1}, kMebibytesMax))
      ->option_text("MIB");
}

void add_memory_option(CLI::App& app, size_t* bytes) {
  add_mebibytes(app, "--memory",
                "Memory for columns, in MiB; a query reads the rest from disk; default no limit",
                bytes);
}

void add_data_memory_option(CLI::App& app, size_t* bytes) {
  add_mebibytes(
      app, "--data-memory",
      "Memory for all data, in MiB; what needs more is refused; default three quarters of "
      "the machine's",
      bytes);
}

void add_query_memory_options(CLI::App& app, size_t* query_bytes, size_t* queries_bytes) {
  add_mebibytes(
      app, "--query-memory",
      "Memory for a statement and its result, in MiB; over it, the statement fails; default "
      "a quarter of the machine's",
      query_bytes);
  add_mebibytes(
      app, "--queries-memory",
      "The same for all statements together, with results that are not printed yet; default "
      "half of the machine's",
      queries_bytes);
}

void add_metrics_option(CLI::App& app, std::string* path) {
  app.add_option("--metrics", *path, "Write the database's metrics at the end, for Prometheus")
      ->check(output_file())
      ->option_text("FILE");
}

}  // namespace diptych::cli
