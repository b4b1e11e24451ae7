#include "olap/execution/pattern/like_pattern.h"

#include <cstring>
#include <span>

#include <fmt/format.h>

#include "olap/execution/limits/stop_signal.h"
#include "olap/execution/pattern/text_search.h"
#include "olap/execution/vector/utf8_text.h"

namespace diptych::olap {

base::Result<LikePattern> LikePattern::compile(std::string_view pattern) {
  if (pattern.size() > kPatternBytesMax) {
    return base::Error(base::ErrorCode::kInvalidArgument, "54000",
                       fmt::format("a LIKE pattern has at most {} bytes", kPatternBytesMax));
  }
  LikePattern result;
  result.pattern_ = pattern;
  Segment segment;
  bool after_percent = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    char byte = pattern[i];
    if (byte == '%') {
      if (i == 0) result.anchored_start_ = false;
      if (!segment.bytes.empty()) result.segments_.push_back(std::move(segment));
      segment = Segment();
      after_percent = true;
      continue;
    }
    after_percent = false;
    const bool any = byte == '_';
    if (byte == '\\') {
      if (++i == pattern.size()) {
        return base::Error(base::ErrorCode::kInvalidArgument, "22025",
                           "LIKE pattern must not end with the escape character \\");
      }
      byte = pattern[i];
    }
    segment.bytes.push_back(byte);
    segment.any.push_back(any);
    segment.has_any |= any;
    result.has_any_ |= any;
  }
  result.anchored_end_ = !after_percent;
  if (!segment.bytes.empty()) result.segments_.push_back(std::move(segment));
  result.classify();
  result.take_first_bytes();
  return result;
}

void LikePattern::take_first_bytes() {
  if (!anchored_start_ || segments_.empty()) return;
  const Segment& first = segments_[0];
  uint8_t bytes[sizeof first_bytes_] = {};
  uint8_t mask[sizeof first_mask_] = {};
  while (first_byte_count_ < sizeof bytes && first_byte_count_ < first.bytes.size() &&
         !first.any[first_byte_count_]) {
    bytes[first_byte_count_] = static_cast<uint8_t>(first.bytes[first_byte_count_]);
    mask[first_byte_count_++] = 0xff;
  }
  std::memcpy(&first_bytes_, bytes, sizeof first_bytes_);
  std::memcpy(&first_mask_, mask, sizeof first_mask_);
}

void LikePattern::classify() {
  if (segments_.empty() && anchored_start_ && anchored_end_) segments_.emplace_back();  // ''
  if (segments_.size() != 1 || segments_[0].has_any) {
    kind_ = Kind::kGeneral;
  } else if (anchored_start_) {
    kind_ = anchored_end_ ? Kind::kExact : Kind::kPrefix;
  } else {
    kind_ = anchored_end_ ? Kind::kSuffix : Kind::kContains;
  }
}

bool LikePattern::matches(std::string_view text, StopCountdown* stop) const {
  switch (kind_) {
    case Kind::kExact: return text == segments_[0].bytes;
    case Kind::kPrefix: return text.starts_with(segments_[0].bytes);
    case Kind::kSuffix: {
      const std::string& suffix = segments_[0].bytes;  // which is not empty
      // Most texts end otherwise, and the call of memcmp would cost more than all else.
      return !text.empty() && text.back() == suffix.back() && text.ends_with(suffix);
    }
    case Kind::kContains: return find(segments_[0], text, 0, stop) != std::string_view::npos;
    case Kind::kGeneral: break;
  }
  if (has_any_ && !is_ascii(text)) return matches_characters(text, stop);
  return matches_general(text, stop);
}

bool LikePattern::matches_at(const Segment& segment, std::string_view text, size_t at) {
  const size_t count = segment.bytes.size();
  if (text.size() - at < count) return false;
  if (!segment.has_any) {
    return text[at + count - 1] == segment.bytes.back() &&
           std::memcmp(text.data() + at, segment.bytes.data(), count) == 0;
  }
  for (size_t i = 0; i < count; ++i) {
    if (!segment.any[i] && text[at + i] != segment.bytes[i]) return false;
  }
  return true;
}

size_t LikePattern::find(const Segment& segment, std::string_view text, size_t from,
                         StopCountdown* stop) {
  const size_t count = segment.bytes.size();
  const bool is_long = stop != nullptr && text.size() > StopCountdown::kBytesBetween;
  if (!segment.has_any) {
    if (!is_long) return find_text(text, segment.bytes, from);
    const size_t piece = count + StopCountdown::kBytesBetween;
    while (text.size() - from > piece) {
      const size_t found = find_text(text.substr(0, from + piece), segment.bytes, from);
      if (found != std::string_view::npos) return found;
      from += piece - count + 1;
      stop->pass(piece);
    }
    return find_text(text, segment.bytes, from);
  }
  for (size_t at = from; at + count <= text.size(); ++at) {
    if (is_long) stop->pass(count);
    if (matches_at(segment, text, at)) return at;
  }
  return std::string_view::npos;
}

// The ends first: to look at them takes less than a search.
bool LikePattern::matches_general(std::string_view text, StopCountdown* stop) const {
  std::span<const Segment> between(segments_);
  if (between.size() == 1 && anchored_start_ && anchored_end_) {
    return text.size() == between[0].bytes.size() && matches_at(between[0], text, 0);
  }
  if (anchored_start_ && !between.empty()) {
    if (!matches_at(between.front(), text, 0)) return false;
    text.remove_prefix(between.front().bytes.size());
    between = between.subspan(1);
  }
  if (anchored_end_ && !between.empty()) {
    const size_t count = between.back().bytes.size();
    if (text.size() < count || !matches_at(between.back(), text, text.size() - count)) return false;
    text.remove_suffix(count);
    between = between.first(between.size() - 1);
  }
  size_t at = 0;
  for (const Segment& segment : between) {
    const size_t found = find(segment, text, at, stop);
    if (found == std::string_view::npos) return false;
    at = found + segment.bytes.size();
  }
  return true;
}

// The pattern's last `%` is tried again, a character further, whenever what follows it fails.
bool LikePattern::matches_characters(std::string_view text, StopCountdown* stop) const {
  const std::string_view pattern = pattern_;
  size_t p = 0;
  size_t t = 0;
  size_t retry_p = std::string_view::npos;
  size_t retry_t = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '%') {
      retry_p = ++p;
      retry_t = t;
      continue;
    }
    const bool any = p < pattern.size() && pattern[p] == '_';
    const size_t literal = p < pattern.size() && pattern[p] == '\\' ? p + 1 : p;
    if (any) {
      t += character_bytes(text, t);
      ++p;
    } else if (literal < pattern.size() && pattern[literal] == text[t]) {
      ++t;
      p = literal + 1;
    } else if (retry_p != std::string_view::npos) {
      if (stop != nullptr) stop->pass(t - retry_t + 1);
      retry_t += character_bytes(text, retry_t);
      t = retry_t;
      p = retry_p;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '%') ++p;
  return p == pattern.size();
}

}  // namespace diptych::olap
