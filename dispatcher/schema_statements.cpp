#include "dispatcher/schema_statements.h"

#include <algorithm>
#include <utility>

namespace diptych::dispatcher {

using storage::kDroppedTable;
using storage::manifest_bytes_at_most;

void SchemaStatements::reserve(size_t more) {
  const size_t wanted = texts_.size() + more;
  if (wanted > texts_.capacity()) texts_.reserve(std::max(wanted, 2 * texts_.size()));
  if (wanted > entries_.capacity()) entries_.reserve(std::max(wanted, 2 * entries_.size()));
}

void SchemaStatements::add(std::string statement, Entry entry) noexcept {
  manifest_bytes_ += entry.bytes;
  texts_.push_back(std::move(statement));
  entries_.push_back(std::move(entry));
  ++version_;
}

void SchemaStatements::add_table(std::string statement, const base::TableSchema& table) noexcept {
  const uint64_t bytes = manifest_bytes_at_most(statement, table.name);
  add(std::move(statement), {Makes::kTable, table.id, {}, bytes, {}});
}

void SchemaStatements::add_index(std::string statement, base::TableId table,
                                 base::IndexId index) noexcept {
  const uint64_t bytes = manifest_bytes_at_most(statement, "");
  add(std::move(statement), {Makes::kIndex, table, index, bytes, {}});
}

void SchemaStatements::add_dropped_table(base::TableId table) noexcept {
  add(std::string(kDroppedTable), {Makes::kTable, table, {}, storage::kDroppedTableBytes, {}});
}

void SchemaStatements::add_view(std::string statement, std::string name) noexcept {
  const uint64_t bytes = manifest_bytes_at_most(statement, "");
  add(std::move(statement), {Makes::kView, {}, {}, bytes, std::move(name)});
}

template <class Goes>
void SchemaStatements::erase(const Goes& goes) noexcept {
  size_t kept = 0;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (goes(entries_[i])) {
      manifest_bytes_ -= entries_[i].bytes;
      continue;
    }
    if (kept != i) {
      entries_[kept] = std::move(entries_[i]);
      texts_[kept] = std::move(texts_[i]);
    }
    ++kept;
  }
  entries_.erase(entries_.begin() + static_cast<ptrdiff_t>(kept), entries_.end());
  texts_.erase(texts_.begin() + static_cast<ptrdiff_t>(kept), texts_.end());
  ++version_;
}

void SchemaStatements::drop_table(base::TableId table) noexcept {
  const auto own = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.makes == Makes::kTable && entry.table == table;
  });
  manifest_bytes_ += storage::kDroppedTableBytes - own->bytes;
  own->bytes = storage::kDroppedTableBytes;
  texts_[static_cast<size_t>(own - entries_.begin())] = kDroppedTable;
  erase([&](const Entry& entry) {
    const bool of_table = entry.makes == Makes::kIndex || entry.makes == Makes::kNothing;
    return of_table && entry.table == table;
  });
}

void SchemaStatements::drop_index(base::IndexId index) noexcept {
  erase([&](const Entry& entry) { return entry.makes == Makes::kIndex && entry.index == index; });
}

void SchemaStatements::drop_view(std::string_view name) noexcept {
  erase([&](const Entry& entry) { return entry.makes == Makes::kView && entry.view == name; });
}

void SchemaStatements::move_view_to_end(std::string_view name) noexcept {
  const auto own = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.makes == Makes::kView && entry.view == name;
  });
  const auto text = texts_.begin() + (own - entries_.begin());
  std::rotate(own, own + 1, entries_.end());
  std::rotate(text, text + 1, texts_.end());
  ++version_;
}

void SchemaStatements::drop_unique_index(std::string statement, base::TableId table) noexcept {
  const uint64_t bytes = manifest_bytes_at_most(statement, "");
  add(std::move(statement), {Makes::kNothing, table, {}, bytes, {}});
}

}  // namespace diptych::dispatcher
