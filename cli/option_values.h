// Option values: what an option of the command line may be given, and what is said if it is not.

#pragma once

#include <bit>
#include <charconv>
#include <map>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/identifier.h"

namespace diptych::cli {

// A file to read, or - for standard input.
CLI::Validator input_file();
CLI::Validator existing_directory();
// A directory to be made: the one that it lies in is there.
CLI::Validator new_directory();
CLI::Validator output_file();

// For Option::transform: CLI11's own reading takes numbers that do not fit for the largest.
template <class Number>
CLI::Validator number_between(Number low, Number high) {
  const auto read = [low, high](std::string& text) -> std::string {
    Number number{};
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, number);
    // The comparisons are false for what is not a number.
    if (parsed.ec == std::errc() && parsed.ptr == end && number >= low && number <= high) {
      text = fmt::to_string(number);
      return {};
    }
    return fmt::format("\"{}\" is not a {} from {} to {}", text,
                       std::is_integral_v<Number> ? "whole number" : "number", low, high);
  };
  return {read, ""};
}

// Of a number that number_between has read.
inline CLI::Validator power_of_two() {
  const auto check = [](const std::string& text) {
    return std::has_single_bit(std::stoull(text)) ? std::string()
                                                  : fmt::format("{} is not a power of two", text);
  };
  return {check, ""};
}

// One of some words, in upper or lower case.
template <class Value>
CLI::Option* add_choice(CLI::App& app, const std::string& name, const std::string& what,
                        const std::map<std::string, Value>& choices, Value* value) {
  const auto choose = [=](const std::string& text) {
    const auto found = choices.find(folded(text));
    if (found != choices.end()) {
      *value = found->second;
      return;
    }
    std::string words;
    for (const auto& choice : choices) words += (words.empty() ? "" : ", ") + choice.first;
    throw CLI::ValidationError(name, fmt::format("\"{}\" is none of {}", text, words));
  };
  return app.add_option_function<std::string>(name, choose, what);
}

// PATH, of commands that want a database that is there.
void add_database_path(CLI::App& app, std::string* path);
// --procedures, as often as there are libraries.
CLI::Option* add_procedures_option(CLI::App& app, std::vector<std::string>* libraries);
// A number of MiB: sets `bytes`.
void add_mebibytes(CLI::App& app, const char* name, const char* what, size_t* bytes);
// --memory, of commands that open a database: sets `bytes`.
void add_memory_option(CLI::App& app, size_t* bytes);
// --data-memory, of commands that may add data: sets `bytes`.
void add_data_memory_option(CLI::App& app, size_t* bytes);
// --query-memory and --queries-memory, of commands that run queries: what one and what all of them
// may keep.
void add_query_memory_options(CLI::App& app, size_t* query_bytes, size_t* queries_bytes);
// --metrics, likewise: where its metrics are written at the end, as Prometheus reads them.
void add_metrics_option(CLI::App& app, std::string* path);

}  // namespace diptych::cli
