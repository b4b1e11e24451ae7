#include "olap/execution/sort/sorted_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <type_traits>
#include <utility>

#include "olap/execution/key/sort_prefix.h"
#include "olap/execution/limits/query_failure.h"

namespace diptych::olap {

namespace {

constexpr size_t kRadixRowsMin = 1024;  // below, comparing is faster than counting bytes
// Where so small a share of the rows is wanted, they are picked out before they are sorted.
constexpr uint64_t kPickedShareMin = 8;
constexpr uint64_t kSortRowsAWorkerMin = 8 * kVectorRows;
constexpr uint32_t kSortRangesAWorker = 4;
constexpr uint32_t kSortRangesMax = 256;
constexpr uint32_t kSamplesARange = 16;
constexpr uint32_t kSkippedTextMax = 64;  // texts that are equal so far are compared

struct SortEntry {
  uint64_t prefix;
  uint32_t row;
};
static_assert(2 * sizeof(SortEntry) + sizeof(uint32_t) == kSortBytesARow);

// The first keys of a sort in one prefix, where all of them are integers whose values differ in no
// more than 64 bits together: those that tie are equal in all of them.
class PackedKeys {
 public:
  // Two keys at least; else nothing.
  static std::optional<PackedKeys> of(const ColumnStore& rows, std::span<const SortKey> keys) {
    const auto is_integer = [&](const SortKey& key) {
      const PhysicalType type = rows.type(key.column);
      return type == PhysicalType::kInt32 || type == PhysicalType::kInt64;
    };
    if (keys.size() < 2 || !is_integer(keys[1])) return std::nullopt;
    // Where those before have so large a range they mostly leave no tie: more bytes are in vain.
    const auto bits_enough = static_cast<uint32_t>(std::bit_width(rows.row_count())) + 1;
    PackedKeys packed;
    uint32_t bits = 0;
    for (const SortKey& key : keys) {
      if (bits > bits_enough) break;
      if (!is_integer(key)) break;
      ValueBounds bounds;
      rows.widen(key.column, &bounds);
      const bool is_empty = bounds.min > bounds.max;
      const uint64_t range =
          is_empty ? 0 : static_cast<uint64_t>(bounds.max) - static_cast<uint64_t>(bounds.min);
      const bool has_nulls = rows.has_nulls(key.column);
      if (range == UINT64_MAX) break;
      const auto width =
          static_cast<uint32_t>(std::bit_width(range + static_cast<uint64_t>(has_nulls)));
      if (bits + width > 64) break;
      bits += width;
      packed.keys_.push_back({key, is_empty ? ValueBounds{0, 0} : bounds, width});
    }
    if (packed.keys_.size() < 2) return std::nullopt;
    return packed;
  }

  size_t size() const { return keys_.size(); }

  void make_prefixes(const ColumnStore& rows, std::span<SortEntry> entries,
                     const StopSignal& stop) const {
    for (const Key& key : keys_) {
      with_physical_type(rows.type(key.of.column), [&](auto type) {
        if constexpr (std::is_same_v<decltype(type), int32_t> ||
                      std::is_same_v<decltype(type), int64_t>) {
          add(key, rows, rows.values<decltype(type)>(key.of.column), entries, stop);
        }
      });
    }
  }

 private:
  struct Key {
    SortKey of;
    ValueBounds bounds;
    uint32_t width;
  };

  template <class T>
  static void add(const Key& key, const ColumnStore& rows, const T* values,
                  std::span<SortEntry> entries, const StopSignal& stop) {
    const uint8_t* const nulls = rows.nulls(key.of.column);
    const auto least = static_cast<uint64_t>(key.bounds.min);
    const auto most = static_cast<uint64_t>(key.bounds.max);
    const bool nulls_come_first = nulls != nullptr && key.of.nulls_first;
    const uint64_t of_null = nulls_come_first ? 0 : most - least + 1;
    for (SortEntry& entry : entries) {
      stop.check_at(entry.row);
      const auto value = static_cast<uint64_t>(int64_t{values[entry.row]});
      uint64_t place = key.of.descending ? most - value : value - least;
      if (nulls != nullptr) {
        place = nulls[entry.row] != 0 ? of_null : place + static_cast<uint64_t>(nulls_come_first);
      }
      entry.prefix = key.width == 64 ? place : entry.prefix << key.width | place;
    }
  }

  std::vector<Key> keys_;
};

// By the keys that are left where entries are equal in those before; or in `skipped` bytes of the
// first, a text.
class RowOrder {
 public:
  RowOrder(const ColumnStore& rows, std::span<const SortKey> keys, uint32_t skipped = 0)
      : rows_(&rows), keys_(keys), skipped_(skipped) {}
  // With the first keys in the prefix.
  RowOrder(const ColumnStore& rows, std::span<const SortKey> keys, const PackedKeys* packed)
      : rows_(&rows), keys_(keys), packed_(packed) {}

  // On average.
  uint64_t row_bytes() const {
    return rows_->memory_bytes() / std::max<uint64_t>(rows_->row_count(), 1);
  }

  // What is known of a range's entries.
  struct Known {
    bool prefixes_decide = true;  // those with equal prefixes are equal in the first key
    bool is_ascending = true;     // by prefix
  };

  // Gives the entries, whose prefixes are 0, those of the first key.
  Known make_prefixes(std::span<SortEntry> entries, const StopSignal& stop) const {
    Known known;
    if (keys_.empty()) return known;
    if (packed_ != nullptr) {
      packed_->make_prefixes(*rows_, entries, stop);
      known.is_ascending = std::is_sorted(
          entries.begin(), entries.end(),
          [](const SortEntry& a, const SortEntry& b) { return a.prefix < b.prefix; });
      return known;
    }
    const SortKey& key = keys_[0];
    const uint8_t* const nulls = rows_->nulls(key.column);
    KeyPrefixes prefixes(key, nulls != nullptr);
    uint64_t descents = 0;
    with_physical_type(rows_->type(key.column), [&](auto value) {
      using T = decltype(value);
      const auto* const values = rows_->values<T>(key.column);
      uint64_t before = 0;
      for (SortEntry& entry : entries) {
        stop.check_at(entry.row);
        if (nulls != nullptr && nulls[entry.row] != 0) {
          entry.prefix = prefixes.of_null();
        } else if constexpr (std::is_same_v<T, base::StringRef>) {
          entry.prefix = prefixes.of(values[entry.row], skipped_);
        } else {
          entry.prefix = prefixes.of(values[entry.row]);
        }
        descents += static_cast<uint64_t>(entry.prefix < before);
        before = entry.prefix;
      }
    });
    return {prefixes.decide(), descents == 0};
  }

  // What make_prefixes() found for all entries.
  void set_known(const Known& known) { known_ = known; }
  const Known& known() const { return known_; }
  bool prefixes_say_all() const { return known_.prefixes_decide && keys_.size() <= in_prefix(); }
  bool are_sorted() const { return known_.is_ascending && prefixes_say_all(); }
  // Of entries that have this prefix; none where they have to be compared.
  std::optional<RowOrder> of_ties(uint64_t prefix) const {
    const SortKey& key = keys_[0];
    if (!known_.prefixes_decide) {
      if (rows_->type(key.column) != PhysicalType::kString) return std::nullopt;
      const uint64_t left = (key.descending ? ~prefix : prefix) & 0xff;
      if (left == kPrefixTextBytes + 1 && skipped_ < kSkippedTextMax) {
        return RowOrder(*rows_, keys_, skipped_ + kPrefixTextBytes);
      }
      // Null is 0, as the empty text is, or 255.
      if (left == 0 || left > kPrefixTextBytes) return std::nullopt;
    }
    return RowOrder(*rows_, keys_.subspan(in_prefix()));
  }

  // Total: entries that are equal in all keys are in the order of their rows.
  bool less(const SortEntry& a, const SortEntry& b) const {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    return tie_less(a.row, b.row);
  }

 private:
  size_t in_prefix() const { return packed_ == nullptr ? 1 : packed_->size(); }
  // Apart from less(), which is to be inlined where entries are sorted.
  [[gnu::noinline]] bool tie_less(uint32_t a, uint32_t b) const {
    if (prefixes_say_all()) return a < b;
    for (const SortKey& key : keys_.subspan(known_.prefixes_decide ? in_prefix() : 0)) {
      const int order = compare_cells(key, rows_->type(key.column), cell(key, a), cell(key, b));
      if (order != 0) return order < 0;
    }
    return a < b;
  }
  KeyCell cell(const SortKey& key, uint32_t row) const {
    return {rows_->values<std::byte>(key.column), row, rows_->is_null(key.column, row)};
  }

  const ColumnStore* rows_;
  std::span<const SortKey> keys_;
  uint32_t skipped_ = 0;
  const PackedKeys* packed_ = nullptr;
  Known known_;
};

// One worker's use of an order. The algorithms copy it: `compared` is all copies' count, of
// comparisons since it last looked at the signal.
class StoppableOrder {
 public:
  StoppableOrder(const RowOrder& order, const StopSignal& stop, uint64_t* compared)
      : order_(&order),
        stop_(&stop),
        compared_(compared),
        rows_a_comparison_(1 + order.row_bytes() / kBytesOfARow) {}
  bool operator()(const SortEntry& a, const SortEntry& b) const {
    *compared_ += rows_a_comparison_;
    if (*compared_ >= StopSignal::kRowsBetween) [[unlikely]] {
      *compared_ = 0;
      stop_->check();
    }
    return order_->less(a, b);
  }

 private:
  static constexpr uint64_t kBytesOfARow = 512;  // of longer ones, texts are compared for longer

  const RowOrder* order_;
  const StopSignal* stop_;
  uint64_t* compared_;
  uint64_t rows_a_comparison_;
};

// Sorts by prefix, equal ones staying in their order: from the last byte to the first, without
// those that all entries have in common. Returns which of the two arrays has the entries now.
SortEntry* sort_by_prefix(SortEntry* entries, SortEntry* other, size_t count,
                          const StopSignal& stop) {
  constexpr size_t kBytes = sizeof(uint64_t);
  std::array<std::array<uint32_t, 256>, kBytes> counts = {};
  for (size_t i = 0; i < count; ++i) {
    stop.check_at(i);
    for (size_t b = 0; b < kBytes; ++b) ++counts[b][(entries[i].prefix >> (8 * b)) & 0xff];
  }
  for (size_t b = 0; b < kBytes; ++b) {
    std::array<uint32_t, 256>& places = counts[b];
    if (places[(entries[0].prefix >> (8 * b)) & 0xff] == count) continue;
    std::exclusive_scan(places.begin(), places.end(), places.begin(), uint32_t{0});
    for (size_t i = 0; i < count; ++i) {
      stop.check_at(i);
      other[places[(entries[i].prefix >> (8 * b)) & 0xff]++] = entries[i];
    }
    std::swap(entries, other);
  }
  return entries;
}

// One worker's sorts.
class EntrySort {
 public:
  explicit EntrySort(const StopSignal& stop) : stop_(stop) {}

  StoppableOrder stoppable(const RowOrder& order) { return {order, stop_, &compared_}; }

  // Sorts the entries, which have the prefixes of the order's first key and come in the order of
  // their rows. Returns which of the two arrays has them now.
  SortEntry* sort(const RowOrder& order, SortEntry* entries, SortEntry* other, size_t count) {
    if (order.are_sorted()) return entries;
    if (count < kRadixRowsMin) {
      std::sort(entries, entries + count, stoppable(order));
      return entries;
    }
    SortEntry* const sorted =
        order.known().is_ascending ? entries : sort_by_prefix(entries, other, count, stop_);
    if (order.prefixes_say_all()) return sorted;
    other = sorted == entries ? other : entries;
    for (size_t first = 0, end = 0; first < count; first = end) {
      while (end < count && sorted[end].prefix == sorted[first].prefix) stop_.check_at(++end);
      sort_ties(order, sorted + first, other + first, end - first);
    }
    return sorted;
  }

 private:
  // Of entries with one prefix: as the others are sorted, by the prefixes of what comes next.
  void sort_ties(const RowOrder& order, SortEntry* entries, SortEntry* other, size_t count) {
    if (count == 1) return;
    std::optional<RowOrder> further = order.of_ties(entries[0].prefix);
    if (!further || count == 2) {
      std::sort(entries, entries + count, stoppable(order));
      return;
    }
    further->set_known(further->make_prefixes({entries, count}, stop_));
    const SortEntry* const sorted = sort(*further, entries, other, count);
    if (sorted != entries) std::copy_n(sorted, count, entries);
  }

  const StopSignal& stop_;
  uint64_t compared_ = 0;
};

// The sort by several workers: which entries go to which range of the result.
class SplitSort {
 public:
  SplitSort(const RowOrder& order, const GrowingArray<SortEntry>& entries, const Workers& workers)
      : order_(order),
        entries_(entries),
        workers_(workers),
        pieces_(workers.count_for(entries.size(), kSortRowsAWorkerMin)),
        ranges_(std::min(std::bit_ceil(pieces_ * kSortRangesAWorker), kSortRangesMax)),
        begins_(size_t{pieces_} * ranges_, 0),
        range_begins_(ranges_ + size_t{1}) {
    // At random places: every so-manieth row may have a meaning.
    std::mt19937_64 random(entries.size());
    std::vector<SortEntry> samples(size_t{ranges_} * kSamplesARange);
    for (SortEntry& sample : samples) sample = entries[random() % entries.size()];
    std::sort(samples.begin(), samples.end(), EntrySort(workers.stop()).stoppable(order));
    for (size_t range = 1; range < ranges_; ++range) {
      splitters_.push_back(samples[range * kSamplesARange]);
      prefixes_.push_back(splitters_.back().prefix);
    }
  }

  // Moves the entries to their ranges; in each they stay in the order of their rows. `range_of_row`
  // has room for as many.
  void split(SortEntry* moved, uint32_t* range_of_row) {
    workers_.run(pieces_, [&](uint32_t piece) { count(piece, range_of_row); });
    uint32_t begin = 0;
    for (uint32_t range = 0; range < ranges_; ++range) {
      range_begins_[range] = begin;
      for (uint32_t piece = 0; piece < pieces_; ++piece) {
        begin += std::exchange(begins_[size_t{piece} * ranges_ + range], begin);
      }
    }
    range_begins_[ranges_] = begin;
    workers_.run(pieces_, [&](uint32_t piece) {
      const RowRange rows = range_of(entries_.size(), piece, pieces_);
      // A copy: workers that write to one line of a cache slow each other down.
      const auto begins = begins_.begin() + size_t{piece} * ranges_;
      std::vector<uint32_t> next(begins, begins + ranges_);
      for (uint64_t i = rows.begin; i < rows.end; ++i) {
        workers_.stop().check_at(i);
        moved[next[range_of_row[i]]++] = entries_[i];
      }
    });
  }

  uint32_t ranges() const { return ranges_; }
  uint32_t begin_of(uint32_t range) const { return range_begins_[range]; }

 private:
  // How many splitters are not above the entry: by prefixes without a branch, then, where one is
  // met, by all keys.
  uint32_t range_of_entry(const SortEntry& entry) const {
    uint32_t below = 0;
    for (uint32_t step = ranges_ / 2; step != 0; step /= 2) {
      below += step * static_cast<uint32_t>(prefixes_[below + step - 1] < entry.prefix);
    }
    if (below == prefixes_.size() || prefixes_[below] != entry.prefix) return below;
    const auto less = [this](const SortEntry& a, const SortEntry& b) { return order_.less(a, b); };
    const auto above = std::upper_bound(splitters_.begin() + below, splitters_.end(), entry, less);
    return static_cast<uint32_t>(above - splitters_.begin());
  }

  void count(uint32_t piece, uint32_t* range_of_row) {
    const RowRange rows = range_of(entries_.size(), piece, pieces_);
    std::vector<uint32_t> counts(ranges_, 0);
    for (uint64_t i = rows.begin; i < rows.end; ++i) {
      workers_.stop().check_at(i);
      range_of_row[i] = range_of_entry(entries_[i]);
      ++counts[range_of_row[i]];
    }
    std::copy(counts.begin(), counts.end(), begins_.begin() + size_t{piece} * ranges_);
  }

  const RowOrder& order_;
  const GrowingArray<SortEntry>& entries_;
  const Workers& workers_;
  const uint32_t pieces_;
  const uint32_t ranges_;               // a power of two
  std::vector<SortEntry> splitters_;    // the first entries of all ranges but the first
  std::vector<uint64_t> prefixes_;      // of the splitters
  std::vector<uint32_t> begins_;        // by piece and range: where its next entry goes
  std::vector<uint32_t> range_begins_;  // by range, and one more
};

std::vector<uint32_t> sort_alone(const RowOrder& order, GrowingArray<SortEntry> entries,
                                 uint64_t limit, const StopSignal& stop) {
  size_t count = entries.size();
  EntrySort alone(stop);
  if (limit < count / kPickedShareMin) {
    std::nth_element(entries.data(), entries.data() + limit, entries.data() + count,
                     alone.stoppable(order));
    count = limit;
    std::sort(entries.data(), entries.data() + count,
              [](const SortEntry& a, const SortEntry& b) { return a.row < b.row; });
  }
  GrowingArray<SortEntry> other;
  if (count >= kRadixRowsMin) other.resize(count);
  const SortEntry* const sorted = alone.sort(order, entries.data(), other.data(), count);
  std::vector<uint32_t> numbers(std::min<uint64_t>(limit, count));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = sorted[i].row;
  return numbers;
}

}  // namespace

std::vector<uint32_t> sorted_rows(const ColumnStore& rows, const std::vector<SortKey>& keys,
                                  uint64_t limit, const Workers& workers) {
  if (rows.row_count() >= UINT32_MAX) {
    fail_query(base::ErrorCode::kOutOfMemory, "a sort has more than 2^32 - 2 rows");
  }
  const std::optional<PackedKeys> packed = PackedKeys::of(rows, keys);
  RowOrder order(rows, keys, packed ? &*packed : nullptr);
  GrowingArray<SortEntry> entries;
  entries.resize(rows.row_count());
  const uint32_t pieces = workers.count_for(entries.size(), kSortRowsAWorkerMin);
  std::vector<RowOrder::Known> known(pieces);
  workers.run(pieces, [&](uint32_t piece) {
    const RowRange range = range_of(entries.size(), piece, pieces);
    for (uint64_t i = range.begin; i < range.end; ++i) {
      workers.stop().check_at(i);
      entries[i] = {0, static_cast<uint32_t>(i)};
    }
    known[piece] = order.make_prefixes({entries.data() + range.begin, range.end - range.begin},
                                       workers.stop());
  });
  RowOrder::Known of_all;
  for (uint32_t piece = 0; piece < pieces; ++piece) {
    of_all.prefixes_decide = of_all.prefixes_decide && known[piece].prefixes_decide;
    of_all.is_ascending = of_all.is_ascending && known[piece].is_ascending;
    const uint64_t begin = range_of(entries.size(), piece, pieces).begin;
    if (piece != 0) {
      of_all.is_ascending =
          of_all.is_ascending && entries[begin - 1].prefix <= entries[begin].prefix;
    }
  }
  order.set_known(of_all);
  if (order.are_sorted()) {
    std::vector<uint32_t> numbers(std::min<uint64_t>(limit, entries.size()));
    std::iota(numbers.begin(), numbers.end(), 0U);
    return numbers;
  }
  if (pieces == 1) {
    return sort_alone(order, std::move(entries), limit, workers.stop());
  }
  std::vector<uint32_t> numbers(entries.size());
  GrowingArray<SortEntry> moved;
  moved.resize(entries.size());
  SplitSort split(order, entries, workers);
  split.split(moved.data(), numbers.data());
  workers.run(split.ranges(), [&](uint32_t range) {
    const uint32_t begin = split.begin_of(range);
    const uint32_t count = split.begin_of(range + 1) - begin;
    if (count == 0 || begin >= limit) return;
    const SortEntry* const sorted =
        EntrySort(workers.stop()).sort(order, moved.data() + begin, entries.data() + begin, count);
    for (uint32_t i = 0; i < count; ++i) numbers[begin + i] = sorted[i].row;
  });
  if (limit < numbers.size()) numbers.resize(limit);
  return numbers;
}

}  // namespace diptych::olap
