// Function: the functions that an Expression of kind kFunction computes (plan.h). The comments list
// the operands, then the result.

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
  kExtractMicroseconds,  // seconds included
  kAddMonths,            // DATE or TIMESTAMP, BIGINT months (last day of month clamps)
  kAddDays,              // DATE or TIMESTAMP, BIGINT days
  kAddMicros,            // TIMESTAMP, BIGINT
  kAddInterval,          // TIMESTAMP, INTERVAL: its months, then its days, then its time
  kTruncateMillennium,   // date_trunc of DATE or TIMESTAMP; the result has the same type
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
  kCountSteps,  // TIMESTAMP first, last, BIGINT months, micros: length of the series, BIGINT
  // TIMESTAMP first, BIGINT months, micros, steps: the value after so many steps, each of which
  // starts from the result of the previous one.
  kAfterSteps,
  kSingleRow,  // value, count (BIGINT): the value; fails with 21000 if the count is above 1
  // Functions of texts, in characters; positions and lengths are BIGINT operands and INT results.
  kPosition,  // text, part: the position of the part, from 1; 0 if it does not occur
  kReplace,   // text, from, to
  kLeftPad,   // text, length, fill
  kRightPad,
  kLeft,  // text, length; a negative length leaves out that many at the other end
  kRight,
  kReverse,
  kRepeat,     // text, times
  kSplitPart,  // text, delimiter, number of the part (counted from the end if negative)
  kTrimBoth,   // text, characters
  kTrimLeft,
  kTrimRight,
  kStartsWith,  // BOOLEAN
  kChr,         // BIGINT code: text
  kTranslate,   // text, from, to: character by character
  kInitcap,
  kConcatWs,  // delimiter, texts...; skips NULLs among the texts
  kFormat,    // template, texts...; format() sees NULLs
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
  // the matched text, or NULL if there is none
  kRegexMatched,
  // As kRegexMatched, with one more operand before the flags, 1 for the end of the match or 0 for
  // its start: INT, or 0 if there is no match.
  kRegexPosition,
  kRegexSubstring,    // text, regular expression: the match or its first group; NULL if none
  kRegexLike,         // text, regular expression, flags: BOOLEAN
  kLikeEscape,        // LIKE's pattern, its escape character: the pattern with backslashes
  kSimilarEscape,     // SIMILAR's pattern, its escape character: a regular expression
  kSimilarSubstring,  // text, SIMILAR's pattern, its escape character; NULL if it does not match
  kOverlay,           // text, replacement, start, length
  kToHex,             // BIGINT: text
  kToNumber,      // text, pattern, digits behind the point (literal BIGINT): DECIMAL(38, digits)
  kToCharNumber,  // a number as text, pattern
  kToCharDouble,  // DOUBLE, pattern
  // Functions of DOUBLEs (row_functions_number.cpp).
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
  kAsinh,
  kAcosh,
  kAtanh,
  kSind,  // of angles in degrees (row_functions_degrees.cpp)
  kCosd,
  kTand,
  kCotd,
  kAsind,
  kAcosd,
  kAtand,
  kAtan2d,
  kDegrees,
  kRadians,
  kWidthBucket,  // DOUBLE operand, low, high, BIGINT count: INT
  // Functions of BIGINTs; the results are BIGINT or INT.
  kGcd,
  kLcm,
  kFactorial,   // BIGINT: DECIMAL(38,0)
  kDecimalGcd,  // two of one DECIMAL(38,s): another
  kDecimalLcm,
  kMinScale,  // DECIMAL(38,s), s (literal BIGINT): INT
  kBitAnd,
  kBitOr,
  kBitXor,
  kShiftLeft,
  kShiftRight,
  kGreatest,  // values of one type; NULLs are skipped
  kLeast,
  // Functions of DATE or TIMESTAMP (row_functions_date.cpp).
  kDaysBetween,    // DATE, DATE: the first minus the second; INT
  kMicrosBetween,  // TIMESTAMP, TIMESTAMP: BIGINT
  kExtractField,   // TIMESTAMP (second, milliseconds, epoch) or INTERVAL, field name (literal):
                   // DECIMAL(24,6)
  kMakeDate,       // BIGINT year, month, day
  kMakeTimestamp,  // BIGINT year, month, day, hour, minute, DOUBLE seconds
  kSecondsAsTimestamp,  // DOUBLE seconds since 1970
  kToChar,              // TIMESTAMP, pattern
  kToTimestamp,         // text, pattern
  // Functions that take or give INTERVAL (expression_interval.cpp).
  kIntervalBetween,  // TIMESTAMP, TIMESTAMP: days and a time from the second to the first
  kAge,              // TIMESTAMP, TIMESTAMP: in the fields of a calendar
  kJustifyHours,
  kJustifyDays,
  kJustifyInterval,
  kDateBin,           // INTERVAL, TIMESTAMP, TIMESTAMP origin: TIMESTAMP
  kTruncateInterval,  // INTERVAL, unit (literal INTERVAL: 3 mons, 7 days, 1 hour)
  kToCharInterval,    // INTERVAL, pattern: text
};

// The name that EXPLAIN shows.
std::string_view function_name(Function function);

}  // namespace diptych::olap
