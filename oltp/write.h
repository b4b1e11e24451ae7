// Write: a row, or a column group of one, that the running transaction owns; and what else it has
// done that its end settles: index entries and strings.

#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"
#include "base/key.h"
#include "base/types.h"
#include "oltp/row_version.h"
#include "oltp/table.h"
#include "oltp/write_shape.h"

namespace diptych::oltp {

enum class WriteKind : uint8_t {
  kUpdate,
  kInsert,  // all groups
  kErase,   // group 0; the others have kErasedGroup
  kErasedGroup,
  kInsertErased,
};

// A row that the running transaction owns, or a column group of it.
struct Write {
  Table* table;
  RowSlot* slot;
  base::RowId row_id;
  Undo* undo;
  const WriteShape* shape;  // the columns that were updated; null: none were
  uint32_t strings;         // where its string changes begin in string_changes_
  WriteKind kind;
  bool keys_logged;  // of an inserted row: key_changes_ has its keys as inserted
  bool has_record;   // among the exported ones
};

// A row's index entry that the transaction wrote or made obsolete.
struct KeyChange {
  TableIndex* index;
  base::RowId row_id;
  std::string key;
  bool inserted;  // by this transaction: a rollback erases it
};

// A long string that a commit, or else a rollback, lets go.
struct StringChange {
  base::Text before;
  base::Text after;
};

// An index key that a write is about to change.
struct OldKey {
  TableIndex* index;
  base::Key key;
};

}  // namespace diptych::oltp
