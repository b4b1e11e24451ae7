// Function: what an Expression of kind kFunction computes (plan.h).

#pragma once

#include <cstdint>
#include <string_view>

namespace diptych::olap {

enum class Function : uint8_t {
  kSubstring,   // text, start (BIGINT, from 1), length (BIGINT); in characters of UTF-8
  kAscii,       // INT: code of the first character, 0 for an empty text
  kLength,      // INT: bytes
  kCharLength,  // INT
  kUpper,
  kLower,
  kTrim,
  kAbs,
  kRound,  // DOUBLE or DECIMAL, digits (literal; BIGINT of a wide DECIMAL that keeps its scale)
  kFloor,
  kCeil,
  kTruncate,     // as kRound
  kExtractYear,  // of DATE or TIMESTAMP; BIGINT
  kExtractQuarter,
  kExtractMonth,
  kExtractWeek,  // of ISO 8601
  kExtractDay,
  kExtractIsoYear,
  kExtractDecade,
  kExtractCentury,
  kExtractMillennium,
  kExtractDayOfYear,
  kExtractDayOfWeek,     // from 0, Sunday
  kExtractIsoDayOfWeek,  // from 1, Monday
  kExtractHour,
  kExtractMinute,
  kExtractMicroseconds,  // those of the seconds, too
  kAddMonths,            // DATE or TIMESTAMP, BIGINT months (last day of month clamps)
  kAddDays,              // DATE or TIMESTAMP, BIGINT days
  kAddMicros,            // TIMESTAMP, BIGINT
  kAddInterval,          // TIMESTAMP, INTERVAL: its months, then its days, then its time
  kTruncateMillennium,   // date_trunc of DATE or TIMESTAMP, as the result
  kTruncateCentury,
  kTruncateDecade,
  kTruncateYear,
  kTruncateQuarter,
  kTruncateMonth,
  kTruncateWeek,
  kTruncateDay,
  kTruncateHour,
  kTruncateMinute,
  kTruncateSecond,
  kTruncateMillisecond,
  kCountSteps,  // TIMESTAMP first, last, BIGINT months, micros: values of the series, BIGINT
  kAfterSteps,  // TIMESTAMP first, BIGINT months, micros, steps: each from where the last one led
  kSingleRow,   // value, count (BIGINT): the value; fails with 21000 where the count is above 1
  // Of texts, in characters; positions and lengths are BIGINT, as results INT.
  kPosition,  // text, part: where the part begins, from 1; 0 where it does not
  kReplace,   // text, from, to
  kLeftPad,   // text, length, fill
  kRightPad,
  kLeft,  // text, length; all but that many from the other end where it is negative
  kRight,
  kReverse,
  kRepeat,     // text, times
  kSplitPart,  // text, delimiter, number of the part (from the end where it is negative)
  kTrimBoth,   // text, characters
  kTrimLeft,
  kTrimRight,
  kStartsWith,  // BOOLEAN
  kChr,         // BIGINT code: text
  kTranslate,   // text, from, to: character by character
  kInitcap,
  kConcatWs,  // delimiter, texts...: NULLs among the texts are left out
  kFormat,    // template, texts...: format() of them, NULLs as such
  kQuoteIdentifier,
  kQuoteLiteral,
  kMd5,          // text: 32 hexadecimal digits
  kLikePattern,  // text, pattern that is no literal: BOOLEAN
  kRegexMatch,   // text, regular expression: BOOLEAN
  kRegexMatchAnyCase,
  kRegexReplace,  // text, regular expression, replacement, start, n, flags
  // text, regular expression, first character (BIGINT, from 1), flags: INT
  kRegexCount,
  // text, regular expression, first character, number of the match (BIGINT), flags, group (BIGINT):
  // what it matches; NULL: nothing
  kRegexMatched,
  // As kRegexMatched, with 1 before the flags for the end of the match, 0 for its start: INT, 0 for
  // nothing.
  kRegexPosition,
  kRegexSubstring,  // text, regular expression: what it, or its first group, matches; NULL: nothing
  kRegexLike,       // text, regular expression, flags: BOOLEAN
  kLikeEscape,      // LIKE's pattern, its escape character: the pattern with backslashes
  kSimilarEscape,   // SIMILAR's pattern, its escape character: a regular expression
  kSimilarSubstring,  // text, SIMILAR's pattern, its escape character; NULL where it does not match
  kOverlay,           // text, replacement, start, length
  kToHex,             // BIGINT: text
  kToCharNumber,      // a number as text, pattern
  kToCharDouble,      // DOUBLE, pattern
  // Of DOUBLEs (row_functions_number.cpp).
  kPower,
  kSqrt,
  kExp,
  kLn,
  kLog10,
  kSign,
  kCbrt,
  kSin,
  kCos,
  kTan,
  kCot,
  kAsin,
  kAcos,
  kAtan,
  kAtan2,
  kSinh,
  kCosh,
  kTanh,
  kDegrees,
  kRadians,
  kWidthBucket,  // DOUBLE operand, low, high, BIGINT count: INT
  // Of BIGINTs, as results BIGINT or INT.
  kGcd,
  kLcm,
  kFactorial,  // BIGINT: DECIMAL(38,0)
  kBitAnd,
  kBitOr,
  kBitXor,
  kShiftLeft,
  kShiftRight,
  kGreatest,  // of values of one type, NULLs left out
  kLeast,
  // Of DATE or TIMESTAMP (row_functions_date.cpp).
  kDaysBetween,    // DATE, DATE: the first minus the second; INT
  kMicrosBetween,  // TIMESTAMP, TIMESTAMP: BIGINT
  kExtractField,   // TIMESTAMP (second, milliseconds, epoch) or INTERVAL, field name (literal):
                   // DECIMAL(24,6)
  kMakeDate,       // BIGINT year, month, day
  kToChar,         // TIMESTAMP, pattern
  kToTimestamp,    // text, pattern
  // Of INTERVAL (expression_interval.cpp), as results too.
  kIntervalBetween,  // TIMESTAMP, TIMESTAMP: days and a time from the second to the first
  kAge,              // TIMESTAMP, TIMESTAMP: in the fields of a calendar
  kJustifyHours,
  kJustifyDays,
  kJustifyInterval,
  kDateBin,  // INTERVAL, TIMESTAMP, TIMESTAMP origin: TIMESTAMP
};

// As EXPLAIN shows it.
std::string_view function_name(Function function);

}  // namespace diptych::olap
