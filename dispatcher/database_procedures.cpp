// The face's procedures: registered by the program, loaded from a library, listed, found by name.

#include <new>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "dispatcher/call_by_name.h"
#include "dispatcher/database_state.h"
#include "dispatcher/module_library.h"

namespace diptych::dispatcher {

namespace {

base::Error mistaken(const oltp::ProcedureDefinition& definition, std::string_view why) {
  return {base::ErrorCode::kInvalidArgument,
          fmt::format("procedure \"{}\" {}", definition.name, why)};
}

}  // namespace

base::Result<base::ProcedureId> Database::register_definition(
    oltp::ProcedureDefinition definition) try {
  if (auto allowed = state_->check_may_wait("register_procedure"); !allowed) {
    return allowed.error();
  }
  if (const std::string why = unfit(definition); !why.empty()) return mistaken(definition, why);
  definition.reply_texts = oltp::text_cells(definition.reply_columns);
  // The OLAP side of a database that was opened has to get ready first, which takes longer.
  const BatchGate::Exclusive held = state_->gate.exclude(Stops::kOltp);
  if (auto open = state_->check_open(held); !open) return open.error();
  if (state_->procedures.full()) {
    return base::Error(base::ErrorCode::kOverloaded,
                       fmt::format("{} procedures are registered, which is the limit",
                                   ProcedureDirectory::kProceduresMax));
  }
  if (const ProcedureSignature* present = state_->procedures.find(definition.name)) {
    const bool removed = state_->modules.is_removed(present->id);
    return base::Error(
        base::ErrorCode::kAlreadyExists,
        removed ? fmt::format("a procedure \"{}\" was module \"{}\"'s, and only a module that is "
                              "loaded can define it again",
                              definition.name, state_->modules.module_of(present->id))
                : fmt::format("a procedure \"{}\" is registered already", definition.name));
  }
  NewProcedure procedure(std::move(definition));
  state_->engine.make_room_for_procedures(1);
  // From here on nothing throws.
  return add_procedure(std::move(procedure), &state_->engine, &state_->procedures);
} catch (const std::bad_alloc&) {
  return base::ErrorCode::kOutOfMemory;
}

base::Result<base::ProcedureId> Database::replace_definition(oltp::ProcedureDefinition definition,
                                                             const ChangeOptions& change) try {
  const uint64_t asked_ns = base::steady_ns();
  if (auto allowed = state_->check_may_wait("replace_procedure"); !allowed) return allowed.error();
  if (auto open = state_->check_not_closing(); !open) return open.error();
  if (const std::string why = unfit(definition); !why.empty()) return mistaken(definition, why);
  definition.reply_texts = oltp::text_cells(definition.reply_columns);
  const std::lock_guard one_at_a_time(state_->loading);
  // As in load_procedures.
  std::unique_lock<std::mutex> no_replay;
  if (!state_->log_replay.is_done()) no_replay = state_->log_replay.hold();
  const auto held = state_->stop_for_change(asked_ns, change);
  if (!held) return held.error();
  if (auto open = state_->check_open(*held); !open) return open.error();
  const ProcedureSignature* const present = state_->procedures.find(definition.name);
  if (present == nullptr) {
    return base::Error(base::ErrorCode::kNotFound,
                       fmt::format("no procedure \"{}\" to replace", definition.name));
  }
  if (const std::string_view module = state_->modules.module_of(present->id); !module.empty()) {
    return mistaken(definition, fmt::format("is module \"{}\"'s: load it again", module));
  }
  const std::string differs = difference(*present, signature_of(definition));
  if (!differs.empty()) {
    return mistaken(definition, fmt::format("has {}, but callers know it as it was", differs));
  }
  if (auto saved = state_->save_before_replacing(*held); !saved) return saved.error();
  state_->procedures.set_version(present->id, definition.version);
  state_->engine.replace_procedure(present->id, std::move(definition));
  return present->id;
} catch (const std::bad_alloc&) {
  return base::ErrorCode::kOutOfMemory;
}

base::Result<void> Database::State::save_before_replacing(const BatchGate::Exclusive& held) {
  if (log == nullptr || !log_replay.is_done()) return {};  // that is replayed by the new one
  if (auto usable = check_log(); !usable) return usable;
  backups.cut_log(held, log.get(), engine.last_vid());
  return checkpoints.save();
}

base::Result<base::ProcedureId> Database::find_procedure(
    std::string_view name, size_t argument_bytes,
    const std::vector<base::BoundColumn>& argument_columns, size_t reply_bytes,
    const std::vector<base::BoundColumn>& reply_columns) const {
  const ProcedureSignature* signature = state_->procedures.find(name);
  if (signature == nullptr) {
    return base::Error(base::ErrorCode::kNotFound, fmt::format("no procedure \"{}\"", name));
  }
  const std::string differs = difference(*signature, {.name = {},
                                                      .id = {},
                                                      .argument_bytes = argument_bytes,
                                                      .reply_bytes = reply_bytes,
                                                      .argument_columns = argument_columns,
                                                      .reply_columns = reply_columns});
  if (differs.empty()) return signature->id;
  return base::Error(base::ErrorCode::kInvalidArgument,
                     fmt::format("procedure \"{}\" is asked for with {}", name, differs));
}

base::Result<LoadedProcedures> Database::load_procedures(const std::string& path,
                                                         const ChangeOptions& change) try {
  const uint64_t asked_ns = base::steady_ns();
  if (auto allowed = state_->check_may_wait("load_procedures"); !allowed) return allowed.error();
  if (auto open = state_->check_not_closing(); !open) return open.error();
  const std::lock_guard one_at_a_time(state_->loading);
  auto library = ModuleLibrary::open(path);
  if (!library) return library.error();
  // Goes before the library, whose code its destruction needs (ModuleRegistry's M1).
  ModuleRegistry::Defined definitions;
  // The code that a log is replayed with stays until it was.
  std::unique_lock<std::mutex> no_replay;
  if (!state_->log_replay.is_done()) no_replay = state_->log_replay.hold();
  const auto held = state_->stop_for_change(asked_ns, change);
  if (!held) return held.error();
  if (auto open = state_->check_open(*held); !open) return open.error();
  auto defined = ModuleRegistry::define(**library, state_->catalog, &definitions);
  if (defined)
    defined = state_->modules.check(**library, definitions.procedures, state_->procedures);
  if (!defined) {
    return defined.error().within(fmt::format("{}: module \"{}\"", path, (*library)->name()));
  }
  if (state_->modules.has((*library)->name())) {
    if (auto saved = state_->save_before_replacing(*held); !saved) return saved.error();
  }
  return state_->modules.install(&*library, std::move(definitions), &state_->engine,
                                 &state_->procedures);
} catch (const std::bad_alloc&) {
  return base::ErrorCode::kOutOfMemory;
}

base::Result<std::vector<ProcedureDescription>> Database::procedures() const {
  if (auto allowed = state_->check_may_wait("procedures"); !allowed) return allowed.error();
  const BatchGate::Exclusive held = state_->gate.exclude(Stops::kOltp);
  if (auto open = state_->check_open(held); !open) return open.error();
  std::vector<ProcedureDescription> procedures;
  for (uint32_t i = 0; i < state_->procedures.count(); ++i) {
    const base::ProcedureId id(i);
    if (state_->modules.is_removed(id)) continue;
    const ProcedureSignature& signature = *state_->procedures.find(id);
    procedures.push_back({.name = signature.name,
                          .module = std::string(state_->modules.module_of(id)),
                          .arguments = signature.argument_columns,
                          .reply = signature.reply_columns,
                          .by_name = check_callable(signature).ok()});
  }
  return procedures;
}

}  // namespace diptych::dispatcher
