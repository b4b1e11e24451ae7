#include "workloads/scan/scan_measurement_parts.h"

namespace diptych::workloads::scan {
namespace {

constexpr size_t kBufferPieceBytes = size_t{1} << 20;

// In two halves, each of which fits 32 bits for so few values: lanes need not be widened, which
// took longer than some decoding does (78 against 48 GB/s from the first-level cache).
uint64_t sum_halves(const int32_t* values, uint32_t count) {
  static_assert(storage::kVectorRows <= 1U << 16, "neither half overflows");
  uint32_t low = 0;
  int32_t high = 0;
  for (uint32_t i = 0; i < count; ++i) {
    low += static_cast<uint32_t>(values[i]) & 0xffff;
    high += values[i] >> 16;
  }
  return static_cast<uint64_t>(int64_t{high} * (1 << 16) + low);
}

}  // namespace

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

uint64_t sum_words(const uint64_t* words, size_t count) {
  uint64_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum += words[i];
  return sum;
}

uint64_t sum_vector(const storage::ColumnView& view, storage::encoding::ValueKind kind) {
  using storage::encoding::ValueKind;
  uint64_t sum = 0;
  switch (kind) {
    case ValueKind::kInt32: return sum_halves(view.as<int32_t>(), view.count);
    case ValueKind::kInt64:
    case ValueKind::kDouble: return sum_words(view.as<uint64_t>(), view.count);
    case ValueKind::kBoolean:
      for (uint32_t i = 0; i < view.count; ++i) sum += view.as<uint8_t>()[i];
      return sum;
    case ValueKind::kText:
      for (uint32_t i = 0; i < view.count; ++i) sum += view.as<base::StringRef>()[i].size();
      return sum;
  }
  return sum;
}

uint64_t decoded_bytes(const storage::ColumnView& view, storage::encoding::ValueKind kind,
                       uint64_t sum) {
  if (kind != storage::encoding::ValueKind::kText) {
    return view.count * storage::encoding::value_bytes(kind);
  }
  return view.count * sizeof(uint32_t) + sum;
}

base::Result<ColumnValues> values_of(const storage::Leaf& leaf, base::ColumnId column,
                                     storage::encoding::ValueKind kind) {
  using storage::encoding::ValueKind;
  const auto pinned = leaf.pin(column);
  if (!pinned.ok()) return pinned.error();
  storage::DecodeBuffer buffer;
  ColumnValues values;
  for (uint32_t first = 0; first < leaf.row_slots(); first += storage::kVectorRows) {
    const auto view =
        pinned->view(first, std::min(storage::kVectorRows, leaf.row_slots() - first), &buffer);
    for (uint32_t i = 0; i < view.count; ++i) {
      if (!leaf.lives(first + i) || view.is_null(i)) continue;
      switch (kind) {
        case ValueKind::kInt32: values.numbers.push_back(view.as<int32_t>()[i]); break;
        case ValueKind::kInt64: values.numbers.push_back(view.as<int64_t>()[i]); break;
        case ValueKind::kDouble:
          values.numbers.push_back(storage::encoding::double_key(view.as<double>()[i]));
          break;
        case ValueKind::kBoolean: values.numbers.push_back(view.as<uint8_t>()[i]); break;
        case ValueKind::kText: values.texts.emplace_back(view.as<base::StringRef>()[i].view());
      }
    }
  }
  return values;
}

void ScanMeasurement::Parts::share_out(size_t count, const Body& body) {
  std::atomic<size_t> next{0};
  access.run_on_each_thread([&](uint32_t) {
    storage::DecodeBuffer buffer_of_thread;
    // relaxed: it hands out numbers, nothing is read behind it.
    for (size_t i = next.fetch_add(1, std::memory_order_relaxed); i < count;
         i = next.fetch_add(1, std::memory_order_relaxed)) {
      body(i, &buffer_of_thread);
    }
  });
}

double ScanMeasurement::Parts::read_buffer() {
  if (buffer.size() == 0) {
    buffer = base::Region(kBufferBytes, access.placement().node);
    std::fill_n(buffer.data(), buffer.size(), std::byte{1});  // or all pages are one of zeroes
  }
  const uint64_t start = base::steady_ns();
  share_out(kBufferBytes / kBufferPieceBytes, [&](size_t piece, storage::DecodeBuffer*) {
    const auto* const words =
        reinterpret_cast<const uint64_t*>(buffer.data() + piece * kBufferPieceBytes);
    // relaxed: a sum that nobody waits for.
    sums.fetch_add(sum_words(words, kBufferPieceBytes / sizeof(uint64_t)),
                   std::memory_order_relaxed);
  });
  return static_cast<double>(kBufferBytes) / base::seconds_since(start);
}

}  // namespace diptych::workloads::scan
