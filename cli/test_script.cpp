#include "cli/test_script.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace diptych::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::string_view kEngine = "diptych";
constexpr std::string_view kResults = "----";
constexpr std::string_view kRegex = "<REGEX>:";
// Loops within loops end somewhere, also those without a record.
constexpr size_t kRecordsMax = 1'000'000;
constexpr size_t kRoundsMax = 2 * kRecordsMax;
constexpr size_t kLoopsNestedMax = 64;
// Of all lines that loops repeat: a loop's value may be what another one has doubled.
constexpr size_t kRepeatedBytesMax = size_t{256} << 20;

using Words = std::vector<std::string_view>;

constexpr std::string_view kBlanks = " \t";

Words words_of(std::string_view line) {
  Words words;
  for (size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

std::string_view first_word_of(std::string_view line) {
  const size_t begin = std::min(line.find_first_not_of(kBlanks), line.size());
  return line.substr(begin, line.find_first_of(kBlanks, begin) - begin);
}

struct Line {
  uint32_t number = 0;
  std::string text;
};

bool is_blank(const Line& line) {
  return line.text.find_first_not_of(kBlanks) == std::string::npos;
}

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back({static_cast<uint32_t>(lines.size() + 1), std::string(line)});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Nothing where it would be longer than `bytes_max`.
std::optional<std::string> replaced(std::string_view text, std::string_view name,
                                    std::string_view value, size_t bytes_max) {
  std::string by_value;
  while (true) {
    const size_t at = std::min(text.find(name), text.size());
    if (by_value.size() + at > bytes_max) return std::nullopt;
    by_value += text.substr(0, at);
    if (at == text.size()) return by_value;
    if (by_value.size() + value.size() > bytes_max) return std::nullopt;
    by_value += value;
    text.remove_prefix(at + name.size());
  }
}

// What other programs than this one do, a line each: it is skipped, and said.
bool is_of_others(std::string_view first_word) {
  constexpr std::string_view kWords[] = {"require",   "require-env", "test-env", "tags",  "restart",
                                         "reconnect", "sleep",       "set",      "reset", "include",
                                         "unzip",     "control",     "unload"};
  return std::ranges::find(kWords, first_word) != std::end(kWords);
}

// Its record ends with it, whether or not an empty line follows.
bool is_one_line(std::string_view first_word) {
  constexpr std::string_view kWords[] = {"mode", "halt", "hash-threshold", "load"};
  return std::ranges::find(kWords, first_word) != std::end(kWords) || is_of_others(first_word);
}

bool begins_loop(std::string_view first_word) {
  constexpr std::string_view kWords[] = {"loop", "foreach", "concurrentloop", "concurrentforeach"};
  return std::ranges::find(kWords, first_word) != std::end(kWords);
}

class ScriptParser {
 public:
  Result<void> parse(const std::vector<Line>& lines) {
    for (size_t at = 0; at < lines.size() && !halted_;) {
      if (is_blank(lines[at]) || lines[at].text.starts_with('#')) {
        ++at;
        continue;
      }
      auto parsed = record(lines, &at);
      if (!parsed) return parsed;
      if (records_.size() > kRecordsMax) {
        return wrong(lines.front(), fmt::format("more than {} records", kRecordsMax));
      }
    }
    return {};
  }

  std::vector<TestRecord> take() { return std::move(records_); }

 private:
  static Error wrong(const Line& line, std::string_view what) {
    return {ErrorCode::kSyntaxError, fmt::format("line {}: {}", line.number, what)};
  }

  Result<void> record(const std::vector<Line>& lines, size_t* at) {
    const Line& line = lines[*at];
    const Words words = words_of(line.text);
    const std::string_view first = words.front();
    // What is left out may be anything, up to a line of its own.
    if (left_out_) {
      left_out_ = first != "mode" || words.size() < 2 || words[1] != "unskip";
      const bool begins = *at == 0 || is_blank(lines[*at - 1]);
      if (begins && (first == "statement" || first == "query" || first == "load")) skip(line);
      ++*at;
      return {};
    }
    if (first == "skipif" || first == "onlyif") {
      if (words.size() < 2) return wrong(line, "the name of an engine is missing");
      skip_next_ = skip_next_ || (first == "skipif") == (words[1] == kEngine);
      ++*at;
      return {};
    }
    if (begins_loop(first)) return loop(lines, at);
    const size_t begin = *at;
    ++*at;
    while (!is_one_line(first) && *at < lines.size() && !is_blank(lines[*at])) ++*at;
    const bool skipped = std::exchange(skip_next_, false);
    const std::vector<Line> own(lines.begin() + static_cast<std::ptrdiff_t>(begin),
                                lines.begin() + static_cast<std::ptrdiff_t>(*at));
    // A skipped record may hold what only its engine knows.
    if (skipped) return {};
    if (first == "mode" && words.size() > 1 && (words[1] == "skip" || words[1] == "unskip")) {
      left_out_ = words[1] == "skip";
      return {};
    }
    // Another engine's database file.
    const bool loads_database =
        first == "load" && (words.size() == 2 || (words.size() > 2 && words[1].ends_with(".db")));
    if (is_of_others(first) || first == "mode" || loads_database) {
      skip(line);
      return {};
    }
    if (first == "halt") {
      halted_ = true;
      return {};
    }
    if (first == "hash-threshold") return {};
    if (first == "statement") return statement(own, words);
    if (first == "query") return query(own, words);
    if (first == "load") return load(line, words);
    return wrong(line, fmt::format("unknown record \"{}\"", first));
  }

  void skip(const Line& line) {
    TestRecord& record = records_.emplace_back();
    record.kind = TestRecordKind::kSkipped;
    record.line = record.sql_line = line.number;
    record.sql = line.text;
  }

  static void split_sql(const std::vector<Line>& own, TestRecord* record,
                        std::optional<std::vector<std::string>>* below) {
    record->line = own.front().number;
    record->sql_line = record->line + 1;
    for (size_t i = 1; i < own.size(); ++i) {
      if (*below) {
        (*below)->push_back(own[i].text);
      } else if (own[i].text == kResults) {
        below->emplace();
      } else {
        record->sql += (record->sql.empty() ? "" : "\n") + own[i].text;
      }
    }
  }

  Result<void> statement(const std::vector<Line>& own, const Words& words) {
    TestRecord record;
    std::optional<std::vector<std::string>> below;
    split_sql(own, &record, &below);
    const std::string_view expected = words.size() > 1 ? words[1] : std::string_view();
    if (expected == "error") {
      record.kind = TestRecordKind::kStatementError;
      // The line up to its last blank, from the third word on.
      if (words.size() > 2) {
        const char* const end = words.back().data() + words.back().size();
        const std::string_view rest_of_line(words[2].data(), end);
        record.error_text = rest_of_line;
        record.error_is_regex = true;
      }
      if (below) take_error(*below, &record);
    } else if (expected == "count") {
      record.row_count = words.size() == 3 ? count_of(words[2]) : std::nullopt;
      if (!record.row_count) return wrong(own.front(), "statement count wants a number of rows");
    } else if (expected != "ok") {
      return wrong(own.front(), "statement must be followed by ok, error or count");
    }
    if (below && expected != "error") {
      return wrong(own.front(), "a statement that is ok has no result");
    }
    if (record.sql.empty()) return wrong(own.front(), "the SQL is missing");
    records_.push_back(std::move(record));
    return {};
  }

  static std::optional<uint64_t> count_of(std::string_view text) {
    uint64_t count = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), count);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
    return count;
  }

  static void take_error(const std::vector<std::string>& below, TestRecord* record) {
    for (const std::string& text : below) {
      record->error_text += (record->error_text.empty() ? "" : "\n") + text;
    }
    record->error_is_regex = record->error_text.starts_with(kRegex);
    if (record->error_is_regex) record->error_text.erase(0, kRegex.size());
  }

  Result<void> query(const std::vector<Line>& own, const Words& words) {
    TestRecord record;
    record.kind = TestRecordKind::kQuery;
    split_sql(own, &record, &record.expected);
    if (words.size() < 2) return wrong(own.front(), "the types of the columns are missing");
    record.types = words[1];
    if (record.types.find_first_not_of("TIR") != std::string::npos) {
      return wrong(own.front(), "types of columns are T, I and R");
    }
    if (words.size() > 2) {
      if (words[2] == "rowsort") {
        record.sort = TestSort::kRows;
      } else if (words[2] == "valuesort") {
        record.sort = TestSort::kValues;
      } else if (words[2] != "nosort") {
        return wrong(own.front(),
                     fmt::format("\"{}\" is none of nosort, rowsort, valuesort", words[2]));
      }
    }
    if (words.size() > 3) record.label = words[3];
    if (record.sql.empty()) return wrong(own.front(), "the SQL is missing");
    // To sqlite no row is expected then, to DuckDB it is wrong: most likely it was forgotten.
    if (!record.expected && record.label.empty()) {
      return wrong(own.front(), "the line of ---- and the result below it are missing");
    }
    records_.push_back(std::move(record));
    return {};
  }

  Result<void> load(const Line& line, const Words& words) {
    if (words.size() != 3) return wrong(line, "load wants a table and a file");
    TestRecord record;
    record.kind = TestRecordKind::kLoad;
    record.line = record.sql_line = line.number;
    record.table = words[1];
    record.file = words[2];
    records_.push_back(std::move(record));
    return {};
  }

  Result<void> loop(const std::vector<Line>& lines, size_t* at) {
    const Line& line = lines[*at];
    const Words words = words_of(line.text);
    size_t end = ++*at;
    for (int depth = 1; depth > 0; ++end) {
      if (end == lines.size()) return wrong(line, "its endloop is missing");
      const std::string_view first = first_word_of(lines[end].text);
      if (begins_loop(first)) ++depth;
      if (first == "endloop") --depth;
    }
    const size_t begin = std::exchange(*at, end);
    if (std::exchange(skip_next_, false)) return {};
    auto values = loop_values(line, words);
    if (!values) return values.error();
    if (loops_ == kLoopsNestedMax) {
      return wrong(line, fmt::format("more than {} loops in each other", kLoopsNestedMax));
    }
    ++loops_;
    for (const std::string& value : *values) {
      if (++rounds_ > kRoundsMax) {
        return wrong(line, fmt::format("loops go through more than {} rounds", kRoundsMax));
      }
      const std::string name = fmt::format("${{{}}}", words[1]);
      std::vector<Line> body;
      for (size_t i = begin; i < end - 1; ++i) {
        auto text = replaced(lines[i].text, name, value, kRepeatedBytesMax - repeated_bytes_);
        if (text) repeated_bytes_ += sizeof(Line) + text->size();
        if (!text || repeated_bytes_ > kRepeatedBytesMax) {
          return wrong(line, fmt::format("loops repeat more than {} MiB", kRepeatedBytesMax >> 20));
        }
        body.push_back({lines[i].number, *std::move(text)});
      }
      if (auto parsed = parse(body); !parsed || halted_) return parsed;
    }
    --loops_;
    return {};
  }

  static Result<std::vector<std::string>> loop_values(const Line& line, const Words& words) {
    std::vector<std::string> values;
    if (words.front().ends_with("foreach")) {
      if (words.size() < 3) return wrong(line, "foreach wants a name and values");
      values.assign(words.begin() + 2, words.end());
      return values;
    }
    int64_t bounds[2] = {0, 0};
    bool fine = words.size() == 4;
    for (size_t i = 0; fine && i < 2; ++i) {
      const std::string_view text = words[i + 2];
      const auto read = std::from_chars(text.data(), text.data() + text.size(), bounds[i]);
      fine = read.ec == std::errc() && read.ptr == text.data() + text.size();
    }
    const uint64_t rounds = static_cast<uint64_t>(bounds[1]) - static_cast<uint64_t>(bounds[0]);
    if (!fine || (bounds[1] > bounds[0] && rounds > kRecordsMax)) {
      return wrong(line, "loop wants a name, the first number and the one after the last");
    }
    for (int64_t i = bounds[0]; i < bounds[1]; ++i) values.push_back(std::to_string(i));
    return values;
  }

  std::vector<TestRecord> records_;
  size_t rounds_ = 0;  // of all loops
  size_t repeated_bytes_ = 0;
  size_t loops_ = 0;  // that this line is in
  bool skip_next_ = false;
  bool left_out_ = false;  // between mode skip and mode unskip
  bool halted_ = false;
};

}  // namespace

Result<std::vector<TestRecord>> parse_test_script(std::string_view text) {
  ScriptParser parser;
  if (auto parsed = parser.parse(lines_of(text)); !parsed) return parsed.error();
  return parser.take();
}

}  // namespace diptych::cli
