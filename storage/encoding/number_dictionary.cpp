// Dictionary of numbers: the values that differ in their order, and a row's place among them.
//
//   table_offset: | entries: entries * 4 or 8 bytes (lanes_of), ascending keys |
//   codes_offset: | codes: rows * code_bits bits |
//
// The codes have the order of the values, so a range of values is a range of codes. Takes a patch
// with a value that it has.

#include <algorithm>
#include <cstring>

#include "base/split_mix.h"
#include "storage/encoding/code_kernels.h"
#include "storage/encoding/codec.h"

namespace diptych::storage::encoding {
namespace {

// Gives keys numbers in the order of their first use; open addressing.
class KeyNumbers {
 public:
  KeyNumbers() : slots_(kSlots, kFree) {}
  // The key's number; nothing when there would be more than kDictionaryEntriesMax.
  std::optional<uint32_t> number(int64_t key) {
    size_t slot = base::split_mix(static_cast<uint64_t>(key)) % kSlots;
    for (; slots_[slot] != kFree; slot = (slot + 1) % kSlots) {
      if (keys_[slots_[slot]] == key) return slots_[slot];
    }
    if (keys_.size() == kDictionaryEntriesMax) return std::nullopt;
    slots_[slot] = static_cast<uint32_t>(keys_.size());
    keys_.push_back(key);
    return slots_[slot];
  }
  const std::vector<int64_t>& keys() const { return keys_; }

 private:
  static constexpr size_t kSlots = 2 * kDictionaryEntriesMax;
  static constexpr uint32_t kFree = UINT32_MAX;
  std::vector<uint32_t> slots_;
  std::vector<int64_t> keys_;
};

class NumberDictionary final : public NumberCodec {
 public:
  std::optional<uint64_t> estimate(const ColumnProfile& column) const override {
    const double entries = column.distinct_estimate();
    if (column.rows() == 0 || entries > kDictionaryEntriesMax) return std::nullopt;
    const auto last = static_cast<uint64_t>(entries) - (entries >= 1 ? 1 : 0);
    return static_cast<uint64_t>(entries) * entry_bytes(column.kind()) +
           code_array_bytes(column.rows(), code_bits(last, Lanes::k4));
  }

  bool encode(const ColumnProfile& column, ChunkWriter* writer) const override {
    KeyNumbers numbers;
    std::vector<uint32_t> row_numbers;
    row_numbers.reserve(column.rows());
    for (const int64_t key : column.keys()) {
      const std::optional<uint32_t> number = numbers.number(key);
      if (!number) return false;
      row_numbers.push_back(*number);
    }
    const auto entries = static_cast<uint32_t>(numbers.keys().size());
    if (entries == 0) return false;
    std::vector<uint32_t> order(entries);
    for (uint32_t i = 0; i < entries; ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return numbers.keys()[a] < numbers.keys()[b]; });
    std::vector<uint32_t> codes(entries);
    for (uint32_t i = 0; i < entries; ++i) codes[order[i]] = i;

    const uint32_t bits = code_bits(entries - 1, Lanes::k4);
    const size_t size = entry_bytes(column.kind());
    const uint32_t table = writer->add_part(entries * size);
    const uint32_t offset = writer->add_part(code_array_bytes(column.rows(), bits));
    ChunkHeader& header = writer->header();
    header.table_offset = table;
    header.entries = entries;
    header.codes_offset = offset;
    header.code_bits = static_cast<uint8_t>(bits);
    for (uint32_t i = 0; i < entries; ++i) {
      std::memcpy(writer->at(table) + i * size, &numbers.keys()[order[i]], size);
    }
    CodeWriter out(writer->at(offset), bits);
    for (const uint32_t number : row_numbers) out.add(codes[number]);
    out.finish();
    return true;
  }

  const char* problem(const ChunkHeader& chunk) const override {
    if (const char* const what = dictionary_codes_problem(chunk)) return what;
    const uint64_t table_bytes = chunk.entries * entry_bytes(chunk.kind);
    if (!chunk.holds_before(chunk.codes_offset, chunk.table_offset, table_bytes)) {
      return "its dictionary ends behind its codes' start";
    }
    for (uint32_t i = 1; i < chunk.entries; ++i) {
      if (entry(chunk, i - 1) >= entry(chunk, i)) return "its dictionary is not in order";
    }
    // It has no other values than the chunk had when it was written, null rows the least.
    if (chunk.min <= chunk.max &&
        (chunk.min != entry(chunk, 0) || chunk.max != entry(chunk, chunk.entries - 1))) {
      return "its bounds are not its dictionary's";
    }
    return codes_within(codes_of(chunk), chunk.rows, chunk.entries)
               ? nullptr
               : "a code is not in its dictionary";
  }

  void decode(const ChunkHeader& chunk, uint32_t first, uint32_t count,
              uint32_t* out) const override {
    const auto* const table = chunk.array<uint32_t>(chunk.table_offset);
    decode_codes(codes_of(chunk), first, count, uint32_t{0}, out);
    for (uint32_t i = 0; i < count; ++i) out[i] = table[out[i]];
  }
  void decode(const ChunkHeader& chunk, uint32_t first, uint32_t count,
              uint64_t* out) const override {
    const auto* const table = chunk.array<uint64_t>(chunk.table_offset);
    uint32_t codes[kVectorRows];
    for (uint32_t done = 0; done < count; done += kVectorRows) {
      const uint32_t run = std::min(kVectorRows, count - done);
      decode_codes(codes_of(chunk), first + done, run, uint32_t{0}, codes);
      for (uint32_t i = 0; i < run; ++i) out[done + i] = table[codes[i]];
    }
  }

  void decode_some(const ChunkHeader& chunk, uint32_t first, uint32_t /*count*/,
                   std::span<const uint16_t> slots, uint32_t* out) const override {
    decode_slots(chunk, first, slots, out);
  }
  void decode_some(const ChunkHeader& chunk, uint32_t first, uint32_t /*count*/,
                   std::span<const uint16_t> slots, uint64_t* out) const override {
    decode_slots(chunk, first, slots, out);
  }
  uint32_t rows_a_slot() const override { return 16; }

  RowAnswer filter(const ChunkHeader& chunk, std::span<const KeyRange> ranges) const override {
    std::vector<CodeRange> code_ranges;
    for (const KeyRange& range : ranges) {
      const uint64_t first = lower_entry(chunk, range.first);
      const uint64_t end =
          range.last == kKeyMax ? chunk.entries : lower_entry(chunk, range.last + 1);
      if (first < end) code_ranges.push_back({first, end - 1});
    }
    return filter_codes(codes_of(chunk), chunk.entries - 1, std::move(code_ranges));
  }

  bool patch(ChunkHeader* chunk, uint32_t row, int64_t key) const override {
    const uint64_t code = lower_entry(*chunk, key);
    if (code == chunk->entries || entry(*chunk, code) != key) return false;
    set_code(chunk->at(chunk->codes_offset), chunk->code_bits, row, code);
    return true;
  }

 private:
  static size_t entry_bytes(ValueKind kind) { return static_cast<size_t>(lanes_of(kind)); }
  static int64_t entry(const ChunkHeader& chunk, uint64_t code) {
    if (lanes_of(chunk.kind) == Lanes::k4) return chunk.array<int32_t>(chunk.table_offset)[code];
    return chunk.array<int64_t>(chunk.table_offset)[code];
  }

  template <class Lane>
  static void decode_slots(const ChunkHeader& chunk, uint32_t first,
                           std::span<const uint16_t> slots, Lane* out) {
    const auto* const table = chunk.array<Lane>(chunk.table_offset);
    const Codes codes = codes_of(chunk);
    for (const uint16_t slot : slots) out[slot] = table[codes[first + slot]];
  }

  // The first entry that is not below the key.
  static uint64_t lower_entry(const ChunkHeader& chunk, int64_t key) {
    return first_code(chunk.entries, [&](uint64_t code) { return entry(chunk, code) < key; });
  }
};

constexpr NumberDictionary kNumberDictionaryCodec;

}  // namespace

const NumberCodec& number_dictionary() {
  return kNumberDictionaryCodec;
}

}  // namespace diptych::storage::encoding
