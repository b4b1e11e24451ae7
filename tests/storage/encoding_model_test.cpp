// Every encoding on every adversarial column, against the column's own cells: what decoding, random
// access, selections and predicates say, with each target of Highway and after a copy of the bytes.

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include "storage/encoding/encode.h"
#include "tests/sanitizers.h"
#include "tests/storage/chunk_reads.h"
#include "tests/storage/encoding_columns.h"
#include "tests/storage/kernel_targets.h"

namespace diptych::storage::encoding {
namespace {

using test::adversarial_columns;
using test::NamedColumn;
using test::Random;
using test::TestColumn;

struct Encoded {
  std::string form;
  ChunkBytes bytes;
};

// The chunks of all encodings that take the column, thawed ones of texts that do not become plain,
// and of what encode() chooses.
std::vector<Encoded> all_forms(TestColumn* column) {
  const ColumnRun run = column->run();
  std::vector<Encoded> forms;
  for (const Encoding encoding : test::kAllEncodings) {
    auto bytes = encode(run, encoding);
    if (!bytes) continue;
    const bool is_thawed = encoding == Encoding::kDictionary || encoding == Encoding::kConstant ||
                           encoding == Encoding::kPackedText || encoding == Encoding::kSymbolText ||
                           encoding == Encoding::kSymbolDictionary;
    if (run.kind == ValueKind::kText && is_thawed && run.rows != 0) {
      const Chunk chunk = Chunk::trusted(*bytes);
      ChunkBytes thawed = *thaw(chunk, 0, column->cell(0), NullRoom::kMap);
      for (uint32_t row = 3; row < run.rows; row += 1 + row / 2) {
        EXPECT_EQ(Chunk::patch(thawed, row, column->cell(row)), Patch::kDone);
      }
      forms.push_back({"thawed " + std::string(encoding_name(encoding)), std::move(thawed)});
    }
    forms.push_back({std::string(encoding_name(encoding)), std::move(*bytes)});
  }
  forms.push_back({"the chosen one", *encode(run)});
  forms.push_back({"the settled one", *encode(run, Choice::kSettled)});
  return forms;
}

// Every row's, also a null one's. `texts`: what the chunk's codes stood for in the runs before.
void expect_codes(const ColumnRun& run, std::map<uint32_t, std::string>* texts) {
  if (run.coded.codes == nullptr) return;
  ASSERT_EQ(run.kind, ValueKind::kText);
  for (uint32_t i = 0; i < run.rows; ++i) {
    const uint32_t code = run.coded.codes[i];
    const base::StringRef text = run.as<base::StringRef>()[i];
    ASSERT_LT(code, run.coded.entry_count) << "row " << i;
    ASSERT_EQ(texts->try_emplace(code, text.view()).first->second, text.view()) << "row " << i;
    if (run.coded.entries == nullptr) continue;
    ASSERT_EQ(run.coded.entries[code], text) << "row " << i;
  }
}

void expect_same_rows(const Chunk& chunk, const TestColumn& column, Random* random) {
  ASSERT_EQ(chunk.rows(), column.rows());
  const auto nulls = std::count_if(column.cells().begin(), column.cells().end(),
                                   [](const Cell& cell) { return cell.is_null; });
  ASSERT_EQ(chunk.null_rows(), nulls);
  RunBuffer buffer;
  std::string scratch;
  std::map<uint32_t, std::string> texts;  // by code
  for (uint32_t first = 0; first < column.rows();) {
    const auto count = static_cast<uint32_t>(
        std::min<uint64_t>(column.rows() - first, 64 * (1 + (*random)() % 9)));
    const ColumnRun run = chunk.decode(first, count, &buffer);
    for (uint32_t i = 0; i < count; ++i) {
      ASSERT_EQ(test::cell_of(run, i), column.cell(first + i)) << "decoded row " << first + i;
    }
    expect_codes(run, &texts);
    first += count;
  }
  for (uint32_t row = 0; row < column.rows(); row += 1 + static_cast<uint32_t>((*random)() % 9)) {
    ASSERT_EQ(test::cell_at(chunk, row, &scratch), column.cell(row)) << "row " << row;
  }
  std::vector<uint16_t> slots;
  for (uint32_t first = 0; first < column.rows(); first += kVectorRows) {
    const uint32_t count = std::min(kVectorRows, column.rows() - first);
    const uint64_t one_in = uint64_t{1} << ((*random)() % 8);
    slots.clear();
    for (uint32_t i = 0; i < count; ++i) {
      if ((*random)() % one_in == 0) slots.push_back(static_cast<uint16_t>(i));
    }
    const ColumnRun run = chunk.decode_some(first, count, slots, &buffer);
    ASSERT_EQ(run.rows, count);
    for (const uint16_t slot : slots) {
      ASSERT_EQ(test::cell_of(run, slot), column.cell(first + slot)) << "one row of some, " << slot;
    }
  }
}

void expect_bounds(const Chunk& chunk, const TestColumn& column) {
  for (const Cell& cell : column.cells()) {
    if (cell.is_null) continue;
    const int64_t key = column.kind() == ValueKind::kText ? text_key(cell.text) : cell.key;
    ASSERT_LE(chunk.min(), key);
    ASSERT_GE(chunk.max(), key);
  }
}

// A buffer that had them from a dictionary has none of texts that are packed.
TEST(EncodingModel, TextsOfADictionaryHaveCodes) {
  TestColumn few(ValueKind::kText);
  TestColumn many(ValueKind::kText);
  TestColumn one(ValueKind::kText);
  for (uint32_t row = 0; row < 2048; ++row) {
    few.add_text(test::last_name(row % 7));
    many.add_text(std::to_string(row * 7919));
    one.add_text("all rows' text");
  }
  RunBuffer buffer;
  const auto entries = [&](TestColumn* column, Encoding encoding, uint32_t count) {
    const ChunkBytes bytes = *encode(column->run(), encoding);
    const ColumnRun run = Chunk::open(bytes)->decode(1024, count, &buffer);
    EXPECT_EQ(run.coded.codes != nullptr, run.coded.entry_count != 0);
    EXPECT_EQ(run.coded.dictionary, 0U) << "the chunk does not know how long it stays as it is";
    return std::pair(run.coded.entry_count, run.coded.entries != nullptr);
  };
  EXPECT_EQ(entries(&few, Encoding::kDictionary, 1024), std::pair(7U, true));
  EXPECT_EQ(entries(&few, Encoding::kDictionary, 20), std::pair(7U, false)) << "too few rows";
  EXPECT_EQ(entries(&one, Encoding::kConstant, 1024), std::pair(1U, true));
  EXPECT_EQ(entries(&many, Encoding::kDictionary, 1024), std::pair(2048U, false));
  EXPECT_EQ(entries(&few, Encoding::kDictionary, 1024), std::pair(7U, true));
  EXPECT_EQ(entries(&many, Encoding::kSymbolDictionary, 1024), std::pair(2048U, false));
  EXPECT_EQ(entries(&many, Encoding::kPackedText, 1024), std::pair(0U, false));
}

TEST(EncodingModel, PatchedTextsHaveNoCodes) {
  TestColumn column(ValueKind::kText);
  for (uint32_t row = 0; row < 100; ++row) column.add_text(test::last_name(row % 7));
  const ChunkBytes frozen = *encode(column.run(), Encoding::kSymbolDictionary);
  const ChunkBytes bytes =
      *thaw(Chunk::trusted(frozen), 3, Cell::of_text("another"), NullRoom::kNone);
  const Chunk chunk = *Chunk::open(bytes);
  ASSERT_EQ(chunk.encoding(), Encoding::kPatchedText);
  RunBuffer buffer;
  EXPECT_EQ(chunk.decode(0, 100, &buffer).coded.codes, nullptr);
}

// Of a dictionary with a number, the buffer keeps the texts, but not longer than the number says.
TEST(EncodingModel, ExpandedTextsStayWithTheirDictionary) {
  const auto column_of = [](uint32_t values, const std::string& text) {
    TestColumn column(ValueKind::kText);
    for (uint32_t row = 0; row < 5 * kVectorRows; ++row) {
      column.add_text(text + std::to_string(row * 31 % values));
    }
    return column;
  };
  TestColumn columns[] = {column_of(900, "customer "), column_of(900, "supplier "),
                          column_of(70, "nation ")};
  std::vector<ChunkBytes> chunks;
  for (TestColumn& column : columns) {
    chunks.push_back(*encode(column.run(), Encoding::kSymbolDictionary));
  }
  RunBuffer buffer;
  const auto expect_runs = [&](size_t c, uint64_t dictionary) {
    SCOPED_TRACE(testing::Message() << "column " << c << ", dictionary " << dictionary);
    buffer.dictionary = dictionary;
    const Chunk chunk = *Chunk::open(chunks[c]);
    std::map<uint32_t, std::string> texts;
    for (uint32_t first = 0; first < chunk.rows(); first += kVectorRows) {
      const ColumnRun run = chunk.decode(first, kVectorRows, &buffer);
      for (uint32_t i = 0; i < kVectorRows; ++i) {
        ASSERT_EQ(test::cell_of(run, i), columns[c].cell(first + i)) << "row " << first + i;
      }
      ASSERT_NO_FATAL_FAILURE(expect_codes(run, &texts));
      const bool keeps = dictionary != 0 && first != 0;
      EXPECT_EQ(buffer.known_entries != nullptr, keeps) << "from row " << first;
      EXPECT_EQ(run.coded.entries != nullptr, keeps && c == 2) << "from row " << first;
    }
  };
  for (const uint64_t dictionary : {0, 5, 0}) {
    ASSERT_NO_FATAL_FAILURE(expect_runs(0, dictionary));
    buffer.known_entries.reset();
  }
  for (uint64_t number = 6; number < 12; ++number) {
    ASSERT_NO_FATAL_FAILURE(expect_runs(number % 3, number));
  }
}

TEST(EncodingModel, EveryFormGivesItsRowsBack) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random(seed);
  for (int kind = 0; kind < kValueKinds; ++kind) {
    std::set<std::string> forms_seen;
    for (NamedColumn& named : adversarial_columns(static_cast<ValueKind>(kind), seed)) {
      for (const Encoded& form : all_forms(&named.column)) {
        SCOPED_TRACE(testing::Message()
                     << "kind " << kind << ", " << named.name << ", " << form.form);
        forms_seen.insert(form.form);
        // A copy: nothing in a chunk knows where it lies.
        const ChunkBytes copy = form.bytes;
        const auto chunk = Chunk::open(copy);
        ASSERT_TRUE(chunk) << chunk.error().to_string();
        expect_same_rows(*chunk, named.column, &random);
        expect_bounds(*chunk, named.column);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
    const bool is_text = kind == static_cast<int>(ValueKind::kText);
    EXPECT_EQ(forms_seen.size(), is_text ? 14 : kind == 3 ? 7 : 8) << "kind " << kind;
  }
}

TEST(EncodingModel, ChunksOfTheMostRowsGiveThemBack) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random(seed);
  TestColumn numbers(ValueKind::kInt32);
  TestColumn texts(ValueKind::kText);
  for (uint32_t row = 0; row < kChunkRowsMax; ++row) {
    // As a dictionary takes them, with a few bits a frame does, and whole bytes do.
    numbers.add(static_cast<int64_t>(random() % 300));
    random() % 50 == 0 ? texts.add_null() : texts.add_text(test::last_name(random() % 900));
  }
  const auto expect_rows = [&](test::TestColumn* column, Encoding form) {
    SCOPED_TRACE(encoding_name(form));
    const auto bytes = encode(column->run(), form);
    ASSERT_TRUE(bytes) << bytes.error().to_string();
    const auto chunk = Chunk::open(*bytes);
    ASSERT_TRUE(chunk) << chunk.error().to_string();
    expect_same_rows(*chunk, *column, &random);
  };
  for (const Encoding form : {Encoding::kFrame, Encoding::kPackedFrame, Encoding::kDictionary}) {
    ASSERT_NO_FATAL_FAILURE(expect_rows(&numbers, form));
  }
  for (const Encoding form : {Encoding::kDictionary, Encoding::kSymbolDictionary,
                              Encoding::kPackedText, Encoding::kSymbolText, Encoding::kPlain}) {
    ASSERT_NO_FATAL_FAILURE(expect_rows(&texts, form));
  }
}

// A predicate, and what it means without ranges. Of NULLs it is never asked.
struct Question {
  std::string name;
  Predicate predicate;
  std::function<bool(const Cell&)> passes;
  std::vector<uint64_t> passing;  // bitmap: the column's rows of which it is true
};

constexpr Comparison kComparisons[] = {Comparison::kEqual,   Comparison::kNotEqual,
                                       Comparison::kLess,    Comparison::kLessEqual,
                                       Comparison::kGreater, Comparison::kGreaterEqual};

template <class Value>
bool compare(Comparison comparison, const Value& a, const Value& b) {
  switch (comparison) {
    case Comparison::kEqual: return a == b;
    case Comparison::kNotEqual: return a != b;
    case Comparison::kLess: return a < b;
    case Comparison::kLessEqual: return a <= b;
    case Comparison::kGreater: return a > b;
    case Comparison::kGreaterEqual: return a >= b;
  }
  return false;
}

// As PostgreSQL orders doubles: with one number for each value.
int64_t double_rank(double value) {
  return double_key(value == 0 ? 0.0 : value);
}

// Of(cell) is the value that constants compare with; Make(constant) what the predicate is made of.
template <class Constant, class Of, class Make>
void ask(const std::vector<Constant>& constants, Random* random, Of of, Make make,
         std::vector<Question>* questions) {
  const auto any = [&]() -> const Constant& { return constants[(*random)() % constants.size()]; };
  for (int i = 0; i < 3; ++i) {
    for (const Comparison comparison : kComparisons) {
      const Constant& constant = any();
      questions->push_back(
          {"compare", Predicate::compare(comparison, make(constant)),
           [=](const Cell& cell) { return compare(comparison, of(cell), constant); }});
    }
    const Constant& low = any();
    const Constant& high = any();
    const auto between = [=](const Cell& cell) { return of(cell) >= low && of(cell) <= high; };
    questions->push_back({"between", Predicate::between(make(low), make(high)), between});
    questions->push_back({"not between", Predicate::between(make(low), make(high)).complement(),
                          [=](const Cell& cell) { return !between(cell); }});
    std::vector<Constant> list;
    std::vector<decltype(make(low))> made;
    const uint64_t count = (*random)() % (i == 0 ? 150 : 12);
    while (list.size() < count) list.push_back(any());
    made.reserve(list.size());
    for (const Constant& each : list) made.push_back(make(each));
    const auto in = [=](const Cell& cell) {
      return std::find(list.begin(), list.end(), of(cell)) != list.end();
    };
    const std::span<const decltype(make(low))> span(made);
    questions->push_back({"in", Predicate::in(span), in});
    questions->push_back(
        {"not in", Predicate::in(span).complement(), [=](const Cell& cell) { return !in(cell); }});
    const Predicate either[] = {Predicate::between(make(low), make(high)), Predicate::in(span)};
    questions->push_back({"between or in", *Predicate::any_of(either),
                          [=](const Cell& cell) { return between(cell) || in(cell); }});
    const Predicate both[] = {either[0].complement(), either[1]};
    questions->push_back({"not between and in", *Predicate::all_of(both),
                          [=](const Cell& cell) { return !between(cell) && in(cell); }});
  }
}

std::vector<Question> questions_for(const TestColumn& column, Random* random) {
  std::vector<Question> questions;
  const auto some_row = [&]() -> const Cell& {
    return column.cell(static_cast<uint32_t>((*random)() % column.rows()));
  };
  const int from_rows = column.rows() == 0 ? 0 : 6;
  if (column.kind() == ValueKind::kText) {
    std::vector<std::string> constants = {"",         "a",
                                          "b",        "zzzz",
                                          "\xff",     "\xff\xff",
                                          "BAR",      std::string("\0", 1),
                                          "Zürich 1", "the same old text"};
    for (int i = 0; i < from_rows; ++i) {
      std::string text(some_row().text);
      constants.push_back(text);
      constants.push_back(text.substr(0, (*random)() % 12));
      constants.push_back(text + "x");
      constants.push_back(text.substr(text.size() - std::min(text.size(), (*random)() % 12)));
      if (text.empty()) continue;
      text[(*random)() % text.size()] = static_cast<char>((*random)());
      constants.push_back(text);
    }
    ask(
        constants, random, [](const Cell& cell) { return std::string(cell.text); },
        [](const std::string& text) { return std::string_view(text); }, &questions);
    for (const std::string& prefix : constants) {
      questions.push_back({"prefix", Predicate::prefix(prefix),
                           [=](const Cell& cell) { return cell.text.starts_with(prefix); }});
      questions.push_back({"not prefix", Predicate::prefix(prefix).complement(),
                           [=](const Cell& cell) { return !cell.text.starts_with(prefix); }});
      questions.push_back({"suffix", Predicate::suffix(prefix),
                           [=](const Cell& cell) { return cell.text.ends_with(prefix); }});
      questions.push_back({"not suffix", Predicate::suffix(prefix).complement(),
                           [=](const Cell& cell) { return !cell.text.ends_with(prefix); }});
    }
  } else if (column.kind() == ValueKind::kDouble) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    std::vector<int64_t> constants;
    for (const double value : {0.0, 1.0, -1.5, kInfinity, -kInfinity, std::nan("")}) {
      constants.push_back(double_rank(value));
    }
    for (int i = 0; i < from_rows; ++i) {
      constants.push_back(double_rank(key_double(some_row().key)));
      constants.push_back(double_rank(key_double(some_row().key) * 1.5));
    }
    ask(
        constants, random, [](const Cell& cell) { return double_rank(key_double(cell.key)); },
        [](int64_t rank) { return key_double(rank); }, &questions);
  } else {
    std::vector<int64_t> constants = {0,
                                      1,
                                      -1,
                                      kKeyMin,
                                      kKeyMax,
                                      INT32_MIN,
                                      INT32_MAX,
                                      int64_t{INT32_MAX} + 1,
                                      int64_t{INT32_MIN} - 1};
    for (int i = 0; i < from_rows; ++i) {
      const int64_t key = some_row().key;
      constants.push_back(key);
      if (key != kKeyMin) constants.push_back(key - 1);
      if (key != kKeyMax) constants.push_back(key + 1);
    }
    ask(
        constants, random, [](const Cell& cell) { return cell.key; },
        [](int64_t key) { return key; }, &questions);
  }
  return questions;
}

// Leaves at most `count` of them, any ones.
void keep_some(ptrdiff_t count, std::vector<Question>* questions, Random* random) {
  std::shuffle(questions->begin(), questions->end(), *random);
  questions->erase(questions->begin() + std::min(std::ssize(*questions), count), questions->end());
}

// Run by run, of rows of which some are no longer wanted.
void expect_narrowed(const ChunkFilter& filter, uint32_t rows, const std::vector<uint64_t>& passing,
                     Random* random) {
  for (uint32_t first = 0; first < rows;) {
    const auto count =
        static_cast<uint32_t>(std::min<uint64_t>(rows - first, 64 * (1 + (*random)() % 24)));
    std::vector<uint64_t> words(bitmap_words(count) + 1, ~uint64_t{0});
    for (uint64_t& word : words) word = (*random)() % 3 == 0 ? 0 : (*random)() | (*random)();
    if (count % 64 != 0) words[count / 64] &= (uint64_t{1} << (count % 64)) - 1;
    const std::vector<uint64_t> wanted = words;
    filter.narrow(first, count, words.data());
    for (uint32_t w = 0; w < bitmap_words(count); ++w) {
      const uint64_t expected = wanted[w] & passing[first / 64 + w];
      ASSERT_EQ(words[w], expected) << "rows from " << first + w * 64;
    }
    ASSERT_EQ(words.back(), wanted.back()) << "a word behind the run";
    first += count;
  }
}

void expect_same_by_runs(const std::optional<ChunkFilter>& filter, const ColumnRun& plain_run,
                         const Predicate& predicate, const std::vector<uint64_t>& passing,
                         Random* random) {
  const auto plain = ChunkFilter::of_values(plain_run, predicate);
  ASSERT_TRUE(plain);
  expect_narrowed(*plain, plain_run.rows, passing, random);
  if (!filter) return;
  expect_narrowed(*filter, plain_run.rows, passing, random);
  for (uint32_t row = 0; filter->passes() != Passes::kSome && row < plain_run.rows; ++row) {
    ASSERT_EQ(bit_is_set(passing.data(), row), filter->passes() == Passes::kAll) << row;
  }
}

// Where filter() may say nothing: in zstd frames, and LIKE '%x' of symbol texts, patched ones too.
bool may_decode(const Chunk& chunk, const Predicate& predicate) {
  const Encoding encoding = chunk.encoding();
  if (encoding == Encoding::kZstd) return true;
  return predicate.question() == Predicate::Question::kSuffix &&
         (encoding == Encoding::kSymbolText || encoding == Encoding::kPatchedText);
}

// A bitmap of the rows whose cells pass.
template <class Passes>
std::vector<uint64_t> rows_that_pass(const TestColumn& column, const Passes& passes) {
  std::vector<uint64_t> words(bitmap_words(column.rows()));
  for (uint32_t row = 0; row < column.rows(); ++row) {
    if (passes(column.cell(row))) words[row / 64] |= uint64_t{1} << (row % 64);
  }
  return words;
}

// Once for all forms of the column.
void answer(const TestColumn& column, std::vector<Question>* questions) {
  for (Question& question : *questions) {
    question.passing = rows_that_pass(
        column, [&](const Cell& cell) { return !cell.is_null && question.passes(cell); });
  }
}

// Of questions that answer() has seen.
void expect_answers(const Chunk& chunk, TestColumn* values, const std::vector<Question>& questions,
                    Random* random) {
  const TestColumn& column = *values;
  const ColumnRun run = values->run();
  // One word more, to see that it is left alone.
  std::vector<uint64_t> words(bitmap_words(column.rows()) + 1);
  const auto check = [&](const char* name, const Predicate& predicate,
                         const std::vector<uint64_t>& passing) {
    std::fill(words.begin(), words.end(), 0xfefefefefefefefe);
    test::select(chunk, predicate, words.data());
    ASSERT_EQ(words.back(), 0xfefefefefefefefe) << name;
    ASSERT_EQ(passing.size(), words.size() - 1) << name;
    for (size_t w = 0; w < passing.size(); ++w) {
      ASSERT_EQ(words[w], passing[w]) << name << ", rows from " << w * 64;
    }
    const std::optional<ChunkFilter> filter = chunk.filter(predicate);
    ASSERT_TRUE(filter || may_decode(chunk, predicate)) << name;
    expect_same_by_runs(filter, run, predicate, words, random);
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << name;
  };
  for (const Question& question : questions) {
    check(question.name.c_str(), question.predicate, question.passing);
    if (testing::Test::HasFatalFailure()) return;
  }
  check("is null", Predicate::is_null(),
        rows_that_pass(column, [](const Cell& cell) { return cell.is_null; }));
  check("is not null", Predicate::is_not_null(),
        rows_that_pass(column, [](const Cell& cell) { return !cell.is_null; }));
}

TEST(EncodingModel, PredicatesOnCodesSayWhatValuesSay) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random(seed);
  for (int kind = 0; kind < kValueKinds; ++kind) {
    for (NamedColumn& named : adversarial_columns(static_cast<ValueKind>(kind), seed)) {
      std::vector<Question> questions = questions_for(named.column, &random);
      if (diptych::test::kSanitized) keep_some(40, &questions, &random);
      answer(named.column, &questions);
      for (const Encoded& form : all_forms(&named.column)) {
        SCOPED_TRACE(testing::Message()
                     << "kind " << kind << ", " << named.name << ", " << form.form);
        expect_answers(Chunk::trusted(form.bytes), &named.column, questions, &random);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// A byte that no symbol has takes two codes, so a bound is as long as twice as many codes.
TEST(EncodingModel, RangesOfSymbolTextsLookAsFarAsTheirBoundsGo) {
  Random random(1);
  const auto text_of = [&](uint32_t row) {
    if (row % 16 != 0) return "c" + test::random_text(&random, 30, test::kAlphanumerics);
    std::string rare(6, '\0');
    for (char& c : rare) c = static_cast<char>(128 + random() % 128);
    return "c" + rare;
  };
  TestColumn column(ValueKind::kText);
  for (uint32_t row = 0; row < 1600; ++row) column.add_text(text_of(row));
  std::vector<Question> questions;
  for (uint32_t row = 0; row < column.rows(); row += 16) {
    const std::string text(column.cell(row).text);
    questions.push_back({"prefix", Predicate::prefix(text),
                         [=](const Cell& cell) { return cell.text.starts_with(text); }});
    questions.push_back({"at most", Predicate::compare(Comparison::kLessEqual, text),
                         [=](const Cell& cell) { return cell.text <= text; }});
  }
  answer(column, &questions);
  expect_answers(Chunk::trusted(*encode(column.run(), Encoding::kSymbolText)), &column, questions,
                 &random);
}

TEST(EncodingModel, EveryTargetOfHighwayAgrees) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random(seed);
  for (const int64_t target : test::kernel_targets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (int kind = 0; kind < kValueKinds; ++kind) {
      for (NamedColumn& named : adversarial_columns(static_cast<ValueKind>(kind), seed)) {
        std::vector<Question> questions = questions_for(named.column, &random);
        keep_some(diptych::test::kSanitized ? 4 : 24, &questions, &random);
        answer(named.column, &questions);
        for (const Encoded& form : all_forms(&named.column)) {
          SCOPED_TRACE(testing::Message() << "target " << target << ", kind " << kind << ", "
                                          << named.name << ", " << form.form);
          const Chunk chunk = Chunk::trusted(form.bytes);
          expect_same_rows(chunk, named.column, &random);
          expect_answers(chunk, &named.column, questions, &random);
          if (testing::Test::HasFatalFailure()) return hwy::SetSupportedTargetsForTest(0);
        }
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace
}  // namespace diptych::storage::encoding
