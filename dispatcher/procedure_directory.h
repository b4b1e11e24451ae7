// ProcedureDirectory: what admission knows of procedures, readable without a lock.
//
// The engine keeps the bodies and belongs to its leader; this is the part that callers on any
// thread need: sizes to check a request against, and columns to call by name.
//
// Threads    add: one at a time (the caller holds the gate). The rest: any.
// When full  add fails with kOverloaded.

#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/row_binding.h"
#include "oltp/procedure.h"

namespace diptych::dispatcher {

struct ProcedureSignature {
  std::string name;
  base::ProcedureId id;
  size_t argument_bytes = 0;
  size_t reply_bytes = 0;
  std::vector<base::BoundColumn> argument_columns;
  std::vector<base::BoundColumn> reply_columns;
};

// What callers see of the definition; the id is not known yet.
ProcedureSignature signature_of(const oltp::ProcedureDefinition& definition);

// How `other` differs from `procedure` for who calls it, in words; empty: it does not. Sizes, and
// the names, types and places of the cells.
std::string difference(const ProcedureSignature& procedure, const ProcedureSignature& other);

class ProcedureDirectory {
 public:
  static constexpr uint32_t kProceduresMax = 4096;

  bool full() const;
  // The id is the one that the engine gave out: the next.
  void add(ProcedureSignature signature);

  // nullptr: no such procedure. Valid as long as the directory.
  const ProcedureSignature* find(base::ProcedureId id) const;
  const ProcedureSignature* find(std::string_view name) const;
  uint32_t count() const;  // ids below it are taken

 private:
  std::array<std::unique_ptr<const ProcedureSignature>, kProceduresMax> signatures_;
  std::atomic<uint32_t> count_{0};  // writer: add
};

}  // namespace diptych::dispatcher
