#include "dispatcher/procedure_modules.h"

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include <fmt/format.h>

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

base::Result<void> ProcedureModules::define(const ModuleLibrary& library,
                                            const base::Catalog& catalog,
                                            std::vector<oltp::ProcedureDefinition>* definitions) {
  ProcedureRegistrar registrar(&catalog, definitions);
  try {
    return library.module().define(registrar);
  } catch (const std::exception& thrown) {
    return base::Error(base::ErrorCode::kAborted,
                       fmt::format("it threw where it defines its procedures: {}", thrown.what()));
  } catch (...) {
    return base::Error(
        base::ErrorCode::kAborted,
        "it threw something that is no std::exception where it defines its procedures");
  }
}

base::Result<void> ProcedureModules::check(
    const ModuleLibrary& library, const std::vector<oltp::ProcedureDefinition>& definitions,
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

LoadedProcedures ProcedureModules::install(std::unique_ptr<ModuleLibrary>* library,
                                           std::vector<oltp::ProcedureDefinition> definitions,
                                           oltp::Engine* engine, ProcedureDirectory* directory) {
  LoadedProcedures report{.module = std::string((*library)->name())};
  for (oltp::ProcedureDefinition& definition : definitions) {
    report.defined.push_back(definition.name);
    if (const ProcedureSignature* const present = directory->find(definition.name)) {
      report.replaced.push_back(definition.name);
      procedures_.at(present->id) = {.module = report.module};
      directory->set_version(present->id, definition.version);
      engine->replace_procedure(present->id, std::move(definition));
      continue;
    }
    ProcedureSignature signature = signature_of(definition);
    const uint64_t version = definition.version;
    signature.id = engine->register_procedure(std::move(definition));
    directory->set_version(signature.id, version);
    procedures_[signature.id] = {.module = report.module};
    directory->add(std::move(signature));
  }
  for (auto& [id, owned] : procedures_) {
    const ProcedureSignature& signature = *directory->find(id);
    if (owned.module != report.module || owned.removed) continue;
    if (std::count(report.defined.begin(), report.defined.end(), signature.name) != 0) continue;
    report.removed.push_back(signature.name);
    owned.removed = true;
    engine->replace_procedure(id, removed_definition(signature, owned.module));
  }
  libraries_[report.module].swap(*library);
  return report;
}

std::string_view ProcedureModules::module_of(base::ProcedureId procedure) const {
  const auto found = procedures_.find(procedure);
  return found == procedures_.end() ? std::string_view() : found->second.module;
}

bool ProcedureModules::is_removed(base::ProcedureId procedure) const {
  const auto found = procedures_.find(procedure);
  return found != procedures_.end() && found->second.removed;
}

}  // namespace diptych::dispatcher
