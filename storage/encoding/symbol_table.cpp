#include "storage/encoding/symbol_table.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>
#include <vector>

namespace diptych::storage::encoding {
namespace {

constexpr int kRounds = 5;
constexpr uint64_t kSavedShareMin = 32;  // of a round that another one follows: a 32nd
constexpr uint32_t kMatches = 512;       // codes, and 256 + byte for those escaped
constexpr uint32_t kPairUsesMin = 4;     // in the sample; what is rarer saves nothing
constexpr uint16_t kNoSymbol = kEscape | 1U << 8;

uint64_t low_bytes(uint32_t count) {
  return count == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * count)) - 1;
}

uint64_t load_padded(const char* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

uint64_t load_rest(const char* from, size_t rest) {
  uint64_t word = 0;
  std::memcpy(&word, from, std::min<size_t>(rest, sizeof word));
  return word;
}

struct Candidate {
  uint64_t bytes;
  uint32_t length;
  uint64_t gain;
};

// Each once, with the gain of all that are equal; the best first.
std::vector<Candidate> sorted_by_gain(std::vector<Candidate> candidates) {
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.bytes, a.length) < std::tie(b.bytes, b.length);
  });
  std::vector<Candidate> best;
  for (const Candidate& each : candidates) {
    if (!best.empty() && best.back().bytes == each.bytes && best.back().length == each.length) {
      best.back().gain += each.gain;
    } else {
      best.push_back(each);
    }
  }
  std::sort(best.begin(), best.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(b.gain, a.bytes, a.length) < std::tie(a.gain, b.bytes, b.length);
  });
  return best;
}

}  // namespace

SymbolTable::SymbolTable() : slots_(kSlots), short_(1U << 16, kNoSymbol) {
  single_.fill(kNoSymbol);
}

// Inline: a function that -fPIC lets others replace is called, once a match.
inline size_t SymbolTable::slot_of(uint64_t word) {
  const auto first = static_cast<uint32_t>(word & 0xffffff);
  return (first * 2971215073U >> 15) % kSlots;
}

bool SymbolTable::add(uint64_t bytes, uint32_t length) {
  const auto code = static_cast<uint16_t>(count_ | length << 8);
  if (length >= 3) {
    Slot& slot = slots_[slot_of(bytes)];
    if (slot.length != 0) return false;
    slot = {bytes, static_cast<uint8_t>(length), static_cast<uint8_t>(count_)};
  } else if (length == 2) {
    short_[bytes] = code;
  } else {
    single_[bytes] = code;
    for (uint32_t second = 0; second < 256; ++second) {
      uint16_t& entry = short_[bytes | second << 8];
      if (entry >> 8 == 1) entry = code;
    }
  }
  symbols_.bytes[count_] = bytes;
  symbols_.lengths[count_] = static_cast<uint8_t>(length);
  ++count_;
  return true;
}

inline SymbolTable::Match SymbolTable::match(uint64_t word, size_t rest) const {
  const Slot& slot = slots_[slot_of(word)];
  if (slot.length != 0 && slot.length <= rest &&
      ((word ^ slot.bytes) & low_bytes(slot.length)) == 0) {
    return {slot.code, slot.length};
  }
  const uint16_t found = rest >= 2 ? short_[word & 0xffff] : single_[word & 0xff];
  return {found & 0xffU, static_cast<uint32_t>(found >> 8)};
}

size_t SymbolTable::compress_padded(const char* text, size_t size, uint8_t* out) const {
  uint8_t* const begin = out;
  const char* const end = text + size;
  while (text < end) {
    const uint64_t word = load_padded(text);
    const Match found = match(word, static_cast<size_t>(end - text));
    // The byte behind an escape is written in any case, and counted where it is one.
    out[0] = static_cast<uint8_t>(found.code);
    out[1] = static_cast<uint8_t>(word);
    out += found.code == kEscape ? 2 : 1;
    text += found.length;
  }
  return static_cast<size_t>(out - begin);
}

size_t SymbolTable::compress(std::string_view text, uint8_t* out) const {
  size_t size = 0;
  for_each_match(text, [&](uint32_t code, uint32_t /*length*/) {
    if (code >= 256) out[size++] = kEscape;
    out[size++] = static_cast<uint8_t>(code);
  });
  return size;
}

template <class Function>
void SymbolTable::for_each_match(std::string_view text, Function&& fn) const {
  for (size_t at = 0; at < text.size();) {
    const size_t rest = text.size() - at;
    const uint64_t word = load_rest(text.data() + at, rest);
    const Match found = match(word, rest);
    fn(found.code == kEscape ? 256 + static_cast<uint32_t>(word & 0xff) : found.code, found.length);
    at += found.length;
  }
}

// How often there is each match, and how often each two are neighbours. A sample has few of all
// pairs that there might be, so those that it has are listed: nobody walks through the megabyte
// again.
class SymbolTable::UseCounts {
 public:
  void count(uint32_t match) { ++matches_[match]; }
  void count_pair(uint32_t first, uint32_t second) {
    const uint32_t pair = first * kMatches + second;
    if (pairs_[pair]++ == 0) met_.push_back(pair);
  }
  // Call fn(match, uses) and fn(first, second, uses) for what was counted, and forget it.
  template <class Function>
  void take_matches(Function&& fn) {
    for (uint32_t match = 0; match < kMatches; ++match) {
      if (matches_[match] != 0) fn(match, std::exchange(matches_[match], 0));
    }
  }
  template <class Function>
  void take_pairs(Function&& fn) {
    for (const uint32_t pair : met_) {
      fn(pair / kMatches, pair % kMatches, std::exchange(pairs_[pair], 0));
    }
    met_.clear();
  }

 private:
  std::array<uint32_t, kMatches> matches_{};
  std::vector<uint32_t> pairs_ = std::vector<uint32_t>(kMatches * kMatches);
  std::vector<uint32_t> met_;
};

uint64_t SymbolTable::count_uses(std::span<const std::string_view> sample, UseCounts* uses) const {
  uint64_t compressed = 0;
  for (const std::string_view text : sample) {
    uint32_t before = kMatches;
    size_t at = 0;
    for_each_match(text, [&](uint32_t code, uint32_t length) {
      compressed += code >= 256 ? 2 : 1;
      uses->count(code);
      // A longer symbol may have been a bad choice: its first byte is a candidate, too.
      if (length > 1) uses->count(256 + static_cast<uint8_t>(text[at]));
      if (before != kMatches) uses->count_pair(before, code);
      before = code;
      at += length;
    });
  }
  return compressed;
}

SymbolTable SymbolTable::improved(UseCounts* uses) const {
  const auto symbol = [&](uint32_t code) -> Candidate {
    if (code >= 256) return {code - 256, 1, 0};
    return {symbols_.bytes[code], symbols_.lengths[code], 0};
  };
  std::vector<Candidate> candidates;
  const auto consider = [&](uint64_t bytes, uint32_t length, uint64_t times) {
    // A symbol of one byte saves an escape.
    candidates.push_back({bytes, length, times * (length == 1 ? 2 : length)});
  };
  uses->take_matches([&](uint32_t code, uint32_t times) {
    const Candidate one = symbol(code);
    consider(one.bytes, one.length, times);
  });
  uses->take_pairs([&](uint32_t first, uint32_t second, uint32_t times) {
    const Candidate one = symbol(first);
    if (times < kPairUsesMin || one.length == 8) return;
    const Candidate other = symbol(second);
    const uint32_t length = std::min(8U, one.length + other.length);
    const uint64_t joined = one.bytes | other.bytes << (8 * one.length);
    consider(joined & low_bytes(length), length, times);
  });
  const std::vector<Candidate> best = sorted_by_gain(std::move(candidates));
  SymbolTable next;
  for (const Candidate& candidate : best) {
    if (next.count_ == kSymbolsMax) break;
    next.add(candidate.bytes, candidate.length);
  }
  return next;
}

SymbolTable SymbolTable::learn(std::span<const std::string_view> sample, uint64_t* compressed) {
  SymbolTable table;
  UseCounts uses;
  *compressed = table.count_uses(sample, &uses);
  for (int round = 0; round < kRounds; ++round) {
    SymbolTable next = table.improved(&uses);
    const uint64_t now = next.count_uses(sample, &uses);
    if (now >= *compressed) break;
    const bool is_last = *compressed - now <= *compressed / kSavedShareMin;
    table = std::move(next);
    *compressed = now;
    if (is_last) break;
  }
  return table;
}

SymbolTable SymbolTable::of(const SymbolBytes& symbols) {
  SymbolTable table;
  for (uint32_t code = 0; code < kSymbolsMax; ++code) {
    const uint32_t length = symbols.lengths[code];
    if (length == 0) break;
    if (!table.add(symbols.bytes[code] & low_bytes(length), length)) break;
  }
  return table;
}

char* expand_symbols(const SymbolBytes& symbols, const uint8_t* codes, size_t count, char* out) {
  const uint8_t* const end = codes + count;
  while (codes < end) {
    const uint8_t code = *codes++;
    if (code == kEscape) {
      *out++ = static_cast<char>(*codes++);
    } else {
      std::memcpy(out, &symbols.bytes[code], sizeof(uint64_t));
      out += symbols.lengths[code];
    }
  }
  return out;
}

}  // namespace diptych::storage::encoding
