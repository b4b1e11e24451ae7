#include "base/key.h"

#include <algorithm>

#include "base/value.h"

namespace diptych::base {
namespace {

template <class Cell>
Cell load_cell(const std::byte* row, uint32_t offset) {
  Cell cell;
  std::memcpy(&cell, row + offset, sizeof cell);
  return cell;
}

// An integer as its key has it: the most significant byte first, negative ones before the others.
template <class Unsigned>
Unsigned key_cell(const std::byte* row, uint32_t offset) {
  constexpr Unsigned kSign = Unsigned{1} << (sizeof(Unsigned) * 8 - 1);
  const Unsigned cell = load_cell<Unsigned>(row, offset) ^ kSign;
  if constexpr (sizeof(Unsigned) == 4) {
    return __builtin_bswap32(cell);
  } else {
    return __builtin_bswap64(cell);
  }
}

void append_cell(const ColumnLayout& column, const std::byte* row, Key* key) {
  switch (column.type.kind) {
    case TypeKind::kBoolean: key->append(load_cell<bool>(row, column.offset)); return;
    case TypeKind::kInt:
    case TypeKind::kDate: key->append(load_cell<int32_t>(row, column.offset)); return;
    case TypeKind::kBigInt:
    case TypeKind::kDecimal:
    case TypeKind::kTimestamp: key->append(load_cell<int64_t>(row, column.offset)); return;
    case TypeKind::kDouble: key->append(load_cell<double>(row, column.offset)); return;
    case TypeKind::kChar:
    case TypeKind::kVarchar: key->append_text(load_string(column, row), column.type.length); return;
    case TypeKind::kInterval: return;  // no column's
  }
}

bool is_integer(TypeKind kind) {
  switch (kind) {
    case TypeKind::kInt:
    case TypeKind::kDate:
    case TypeKind::kBigInt:
    case TypeKind::kDecimal:
    case TypeKind::kTimestamp: return true;
    case TypeKind::kBoolean:
    case TypeKind::kDouble:
    case TypeKind::kChar:
    case TypeKind::kVarchar:
    case TypeKind::kInterval: return false;
  }
  return false;
}

}  // namespace

void Key::append(std::string_view part) {
  size_t start = 0;
  for (size_t zero = part.find('\0'); zero != std::string_view::npos;
       zero = part.find('\0', start)) {
    append_bytes(part.data() + start, zero - start + 1);
    append_bytes("\xff", 1);
    start = zero + 1;
  }
  if (start != part.size()) append_bytes(part.data() + start, part.size() - start);
  append_bytes("\0\0", 2);
}

Key Key::prefix_end() const {
  Key end = *this;
  while (end.size_ > 0) {
    auto last = static_cast<unsigned char>(end.bytes_[end.size_ - 1]);
    if (last != 0xff) {
      end.bytes_[end.size_ - 1] = static_cast<char>(last + 1);
      return end;
    }
    --end.size_;
  }
  return end;
}

size_t shortest_key(const RowLayout& layout, const std::vector<ColumnId>& columns) {
  size_t bytes = 0;
  for (const ColumnId id : columns) {
    const ColumnLayout& column = layout.column(id);
    const DataType& type = column.type;
    const bool is_padded = type.length != 0 && type.length <= kPaddedTextBytesMax;
    if (column.nullable) {
      bytes += 1;  // and no more where it is NULL
    } else if (!type.is_string()) {
      bytes += cell_bytes(type);
    } else {
      bytes += is_padded ? size_t{type.length} + 1 : 2;
    }
  }
  return bytes;
}

std::optional<size_t> longest_key(const RowLayout& layout, const std::vector<ColumnId>& columns) {
  size_t bytes = 0;
  for (const ColumnId id : columns) {
    const ColumnLayout& column = layout.column(id);
    bytes += column.nullable ? 1 : 0;
    if (!column.type.is_string()) {
      bytes += cell_bytes(column.type);
    } else if (column.type.length == 0) {
      return std::nullopt;
    } else if (column.type.length <= kPaddedTextBytesMax) {
      bytes += size_t{column.type.length} + 1;
    } else {
      bytes += 2 * size_t{column.type.length} + 2;  // every byte of it could be a zero
    }
  }
  if (bytes > kKeyBytesMax) return std::nullopt;
  return bytes;
}

KeyEncoder::KeyEncoder(const RowLayout& layout, const std::vector<ColumnId>& columns)
    : columns_(columns) {
  size_t bytes = 0;
  for (const ColumnId column : columns) {
    const ColumnLayout& part = layout.column(column);
    parts_.push_back(part);
    integers_ = integers_ && !part.nullable && is_integer(part.type.kind);
    bytes += part.bytes;
  }
  integers_ = integers_ && bytes <= kKeyBytesMax;
}

void KeyEncoder::encode(const std::byte* row, Key* key) const {
  DIPTYCH_DCHECK(key->size() == 0, "the key is filled from its start");
  if (integers_) return encode_integers(row, key);
  for (const ColumnLayout& part : parts_) {
    if (part.nullable) {
      const bool null = is_null_cell(part, row);
      key->append_null_flag(null);
      if (null) continue;
    }
    append_cell(part, row, key);
  }
}

void KeyEncoder::encode_integers(const std::byte* row, Key* key) const {
  char* at = key->bytes_;
  for (const ColumnLayout& part : parts_) {
    if (part.bytes == 4) {
      const auto cell = key_cell<uint32_t>(row, part.offset);
      std::memcpy(at, &cell, sizeof cell);
    } else {
      const auto cell = key_cell<uint64_t>(row, part.offset);
      std::memcpy(at, &cell, sizeof cell);
    }
    at += part.bytes;
  }
  key->size_ = static_cast<uint16_t>(at - key->bytes_);
}

bool KeyEncoder::matches(const std::byte* row, std::string_view key) const {
  if (!integers_) {
    Key present;
    encode(row, &present);
    return present.bytes() == key;
  }
  const auto* at = reinterpret_cast<const std::byte*>(key.data());
  for (const ColumnLayout& part : parts_) {
    if (part.bytes == 4) {
      if (key_cell<uint32_t>(row, part.offset) != load_cell<uint32_t>(at, 0)) return false;
    } else {
      if (key_cell<uint64_t>(row, part.offset) != load_cell<uint64_t>(at, 0)) return false;
    }
    at += part.bytes;
  }
  return true;
}

bool KeyEncoder::covers(ColumnId column) const {
  return std::find(columns_.begin(), columns_.end(), column) != columns_.end();
}

}  // namespace diptych::base
