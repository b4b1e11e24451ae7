// ProcedureDirectory: what admission knows of procedures, readable without a lock.
//
// The engine keeps the bodies and belongs to its leader; this is the part that callers on any
// thread need: sizes to check a request against, and columns to call by name.
//
// Threads    add, set_version: one at a time (the caller holds the gate). The rest: any.
// When full  full() says so; add may not be called.
//
// Its atomic is a parameter so that the stress test can show that it finds weakened orders.

#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
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
  uint64_t cells_hash = 0;  // as a ref has it (oltp/procedure.h)
  std::vector<base::BoundColumn> argument_columns;
  std::vector<base::BoundColumn> reply_columns;
  bool has_empty_arguments = false;  // as a definition's
  bool has_empty_reply = false;
  std::vector<oltp::TextCell> argument_texts;  // of argument_columns
};

// What callers see of the definition; the id is not known yet.
ProcedureSignature signature_of(const oltp::ProcedureDefinition& definition);

// Why no database takes the procedure, in words; empty: it does. The log needs its name, which is a
// text; a stack must have room for its arguments and its reply.
std::string unfit(const oltp::ProcedureDefinition& definition);

// How `other` differs from `procedure` for who calls it, in words; empty: it does not. Sizes, and
// the names, types and places of the cells.
std::string difference(const ProcedureSignature& procedure, const ProcedureSignature& other);

template <template <class> class Atomic = std::atomic>
class BasicProcedureDirectory {
 public:
  static constexpr uint32_t kProceduresMax = 4096;

  bool full() const;
  // The id is the one that the engine gave out: the next. Does not throw.
  void add(std::unique_ptr<const ProcedureSignature> signature);
  // Of its body, which a module may replace (oltp/procedure.h); 0 until it is set.
  void set_version(base::ProcedureId id, uint64_t version);
  uint64_t version(base::ProcedureId id) const;

  // nullptr: no such procedure. Valid as long as the directory.
  const ProcedureSignature* find(base::ProcedureId id) const;
  const ProcedureSignature* find(std::string_view name) const;
  uint32_t count() const;  // ids below it are taken

 private:
  std::array<std::unique_ptr<const ProcedureSignature>, kProceduresMax> signatures_;
  std::array<Atomic<uint64_t>, kProceduresMax> versions_{};  // writer: set_version
  Atomic<uint32_t> count_{0};                                // writer: add
};

using ProcedureDirectory = BasicProcedureDirectory<>;

template <template <class> class Atomic>
bool BasicProcedureDirectory<Atomic>::full() const {
  // relaxed: asked by the writer.
  return count_.load(std::memory_order_relaxed) == kProceduresMax;
}

template <template <class> class Atomic>
void BasicProcedureDirectory<Atomic>::add(std::unique_ptr<const ProcedureSignature> signature) {
  // relaxed: this thread is the only writer.
  const uint32_t count = count_.load(std::memory_order_relaxed);
  DIPTYCH_CHECK(count < kProceduresMax, "full() was asked before");
  DIPTYCH_CHECK(signature->id.value == count,
                "the engine gives out procedure ids in order, from 0");
  signatures_[count] = std::move(signature);
  // release: pairs with the acquire in find, which then sees the signature.
  count_.store(count + 1, std::memory_order_release);
}

template <template <class> class Atomic>
const ProcedureSignature* BasicProcedureDirectory<Atomic>::find(base::ProcedureId id) const {
  // acquire: pairs with the release in add.
  if (id.value >= count_.load(std::memory_order_acquire)) return nullptr;
  return signatures_[id.value].get();
}

template <template <class> class Atomic>
const ProcedureSignature* BasicProcedureDirectory<Atomic>::find(std::string_view name) const {
  // acquire: pairs with the release in add.
  const uint32_t count = count_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    if (signatures_[i]->name == name) return signatures_[i].get();
  }
  return nullptr;
}

template <template <class> class Atomic>
uint32_t BasicProcedureDirectory<Atomic>::count() const {
  // acquire: pairs with the release in add.
  return count_.load(std::memory_order_acquire);
}

template <template <class> class Atomic>
void BasicProcedureDirectory<Atomic>::set_version(base::ProcedureId id, uint64_t version) {
  // relaxed: who replaces a body has the gate, through which all go that log or replay its calls.
  versions_[id.value].store(version, std::memory_order_relaxed);
}

template <template <class> class Atomic>
uint64_t BasicProcedureDirectory<Atomic>::version(base::ProcedureId id) const {
  // relaxed: as above.
  return versions_[id.value].load(std::memory_order_relaxed);
}

}  // namespace diptych::dispatcher
