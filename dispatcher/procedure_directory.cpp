#include "dispatcher/procedure_directory.h"

#include <utility>

#include "base/check.h"

namespace diptych::dispatcher {

bool ProcedureDirectory::full() const {
  // relaxed: asked by the writer.
  return count_.load(std::memory_order_relaxed) == kProceduresMax;
}

void ProcedureDirectory::add(ProcedureSignature signature) {
  // relaxed: this thread is the only writer.
  const uint32_t count = count_.load(std::memory_order_relaxed);
  DIPTYCH_CHECK(count < kProceduresMax, "full() was asked before");
  DIPTYCH_CHECK(signature.id.value == count, "the engine gives out procedure ids in order, from 0");
  signatures_[count] = std::make_unique<const ProcedureSignature>(std::move(signature));
  // release: pairs with the acquire in find, which then sees the signature.
  count_.store(count + 1, std::memory_order_release);
}

const ProcedureSignature* ProcedureDirectory::find(base::ProcedureId id) const {
  // acquire: pairs with the release in add.
  if (id.value >= count_.load(std::memory_order_acquire)) return nullptr;
  return signatures_[id.value].get();
}

const ProcedureSignature* ProcedureDirectory::find(std::string_view name) const {
  // acquire: pairs with the release in add.
  const uint32_t count = count_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    if (signatures_[i]->name == name) return signatures_[i].get();
  }
  return nullptr;
}

}  // namespace diptych::dispatcher
