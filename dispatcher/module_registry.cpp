#include "dispatcher/module_registry.h"

#include <exception>
#include <new>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/thrown_text.h"

namespace diptych::dispatcher {
namespace {

// What a procedure becomes that its module has no more.
oltp::ProcedureDefinition removed_definition(const ProcedureSignature& signature,
                                             const std::string& module) {
  oltp::ProcedureDefinition definition;
  definition.name = signature.name;
  definition.argument_bytes = signature.argument_bytes;
  definition.reply_bytes = signature.reply_bytes;
  const std::string why =
      fmt::format("procedure \"{}\" is no more: module \"{}\" was replaced by one without it",
                  signature.name, module);
  definition.body = [why](oltp::Transaction&, std::span<const std::byte>,
                          std::span<std::byte>) -> base::Result<void> {
    return base::Error(base::ErrorCode::kNotFound, why);
  };
  return definition;
}

base::Error refused(base::ErrorCode code, const oltp::ProcedureDefinition& definition,
                    std::string_view why) {
  return {code, fmt::format("procedure \"{}\" {}", definition.name, why)};
}

}  // namespace

NewProcedure::NewProcedure(oltp::ProcedureDefinition procedure)
    : signature(std::make_unique<ProcedureSignature>(signature_of(procedure))),
      definition(std::make_unique<oltp::ProcedureDefinition>(std::move(procedure))) {}

base::ProcedureId add_procedure(NewProcedure procedure, oltp::Engine* engine,
                                ProcedureDirectory* directory) noexcept {
  const uint64_t version = procedure.definition->version;
  const base::ProcedureId id = engine->register_procedure(std::move(procedure.definition));
  procedure.signature->id = id;
  directory->set_version(id, version);
  directory->add(std::move(procedure.signature));
  return id;
}

struct ModuleRegistry::Prepared {
  struct Replaced {
    base::ProcedureId id;
    uint64_t version;
    oltp::ProcedureDefinition definition;
  };

  LoadedProcedures report;
  std::vector<Replaced> replaced;  // those that are removed included
  std::vector<NewProcedure> added;
  std::map<base::ProcedureId, Owned> owned;  // by the module, from here on
};

base::Result<void> ModuleRegistry::define(const ModuleLibrary& library,
                                          const base::Catalog& catalog, Defined* defined) {
  ProcedureRegistrar registrar(&catalog, &defined->procedures);
  try {
    auto done = library.module().define(registrar);
    defined->bound = registrar.bound();
    return done;
  } catch (const std::bad_alloc&) {
    return base::ErrorCode::kOutOfMemory;
  } catch (const std::exception& thrown) {
    return base::Error(
        base::ErrorCode::kAborted,
        fmt::format("it threw where it defines its procedures: {}", base::thrown_text(thrown)));
  } catch (...) {
    return base::Error(
        base::ErrorCode::kAborted,
        "it threw something that is no std::exception where it defines its procedures");
  }
}

base::Result<void> ModuleRegistry::check(const ModuleLibrary& library,
                                         const std::vector<oltp::ProcedureDefinition>& definitions,
                                         const ProcedureDirectory& directory) const {
  std::set<std::string_view> names;
  size_t added = 0;
  for (const oltp::ProcedureDefinition& definition : definitions) {
    if (const std::string why = unfit(definition); !why.empty()) {
      return refused(base::ErrorCode::kInvalidArgument, definition, why);
    }
    if (!names.insert(definition.name).second) {
      return refused(base::ErrorCode::kAlreadyExists, definition, "is defined twice");
    }
    const ProcedureSignature* const present = directory.find(definition.name);
    if (present == nullptr) {
      ++added;
      continue;
    }
    const std::string_view owner = module_of(present->id);
    if (owner.empty()) {
      return refused(base::ErrorCode::kAlreadyExists, definition, "is the program's own already");
    }
    if (owner != library.name() && !is_removed(present->id)) {
      return refused(base::ErrorCode::kAlreadyExists, definition,
                     fmt::format("is module \"{}\"'s already", owner));
    }
    const std::string differs = difference(*present, signature_of(definition));
    if (differs.empty()) continue;
    return refused(
        base::ErrorCode::kInvalidArgument, definition,
        fmt::format("has {}, but callers know it as it was: give it a new name", differs));
  }
  if (directory.count() + added <= ProcedureDirectory::kProceduresMax) return {};
  return base::Error(base::ErrorCode::kOverloaded,
                     fmt::format("with it there would be {} procedures; the limit is {}",
                                 directory.count() + added, ProcedureDirectory::kProceduresMax));
}

ModuleRegistry::Prepared ModuleRegistry::prepare(std::string module,
                                                 std::vector<oltp::ProcedureDefinition> definitions,
                                                 const ProcedureDirectory& directory) const {
  Prepared prepared;
  LoadedProcedures& report = prepared.report;
  report.module = std::move(module);
  for (oltp::ProcedureDefinition& definition : definitions) {
    report.defined.push_back(definition.name);
    const auto added = static_cast<uint32_t>(prepared.added.size());
    base::ProcedureId id(directory.count() + added);
    if (const ProcedureSignature* const present = directory.find(definition.name)) {
      id = present->id;
      report.replaced.push_back(definition.name);
      prepared.replaced.push_back({id, definition.version, std::move(definition)});
    } else {
      prepared.added.emplace_back(std::move(definition));
    }
    prepared.owned[id] = {.module = report.module};
  }
  for (const auto& [id, owned] : procedures_) {
    if (owned.module != report.module || owned.removed || prepared.owned.contains(id)) continue;
    const ProcedureSignature& signature = *directory.find(id);
    report.removed.push_back(signature.name);
    prepared.replaced.push_back(
        {id, directory.version(id), removed_definition(signature, owned.module)});
    prepared.owned[id] = {.module = report.module, .removed = true};
  }
  return prepared;
}

void ModuleRegistry::take_over(Prepared* prepared, oltp::Engine* engine,
                               ProcedureDirectory* directory) noexcept {
  for (Prepared::Replaced& replaced : prepared->replaced) {
    directory->set_version(replaced.id, replaced.version);
    engine->replace_procedure(replaced.id, std::move(replaced.definition));
  }
  for (NewProcedure& added : prepared->added) add_procedure(std::move(added), engine, directory);
  prepared->owned.merge(procedures_);  // those that are not in it
  procedures_.swap(prepared->owned);
}

LoadedProcedures ModuleRegistry::install(std::unique_ptr<ModuleLibrary>* library, Defined defined,
                                         oltp::Engine* engine, ProcedureDirectory* directory) {
  Prepared prepared =
      prepare(std::string((*library)->name()), std::move(defined.procedures), *directory);
  engine->make_room_for_procedures(prepared.added.size());
  // The last that may throw: a module without a library would count as loaded.
  Loaded& loaded = libraries_[prepared.report.module];
  take_over(&prepared, engine, directory);
  loaded.library.swap(*library);
  loaded.bound = defined.bound;
  return std::move(prepared.report);
}

base::Result<ModuleRegistry::Rebound> ModuleRegistry::rebind(
    const base::Catalog& catalog, const ProcedureDirectory& directory) const {
  Rebound rebound;
  for (const auto& [module, loaded] : libraries_) {
    Defined defined;
    auto fits = define(*loaded.library, catalog, &defined);
    if (fits) fits = check(*loaded.library, defined.procedures, directory);
    if (!fits) {
      return fits.error().within(fmt::format(
          "module \"{}\" would no longer load; load a version without it first", module));
    }
    if (defined.bound != loaded.bound) rebound.emplace(module, std::move(defined));
  }
  return rebound;
}

void ModuleRegistry::install_again(Rebound rebound, oltp::Engine* engine,
                                   ProcedureDirectory* directory) {
  for (auto& [module, defined] : rebound) {
    Prepared prepared = prepare(module, std::move(defined.procedures), *directory);
    engine->make_room_for_procedures(prepared.added.size());
    take_over(&prepared, engine, directory);
    libraries_.find(module)->second.bound = defined.bound;
  }
}

std::string_view ModuleRegistry::module_of(base::ProcedureId procedure) const {
  const auto found = procedures_.find(procedure);
  return found == procedures_.end() ? std::string_view() : found->second.module;
}

bool ModuleRegistry::is_removed(base::ProcedureId procedure) const {
  const auto found = procedures_.find(procedure);
  return found != procedures_.end() && found->second.removed;
}

}  // namespace diptych::dispatcher
