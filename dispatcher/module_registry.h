// ModuleRegistry: which loaded library defines which procedures, and how one takes another's
// place.
//
//   library open -> define -> check (all names) -> install -> the old library may go
//                      └───── an error: nothing has changed ─┘
//   DDL          -> rebind: define, check -> the DDL -> install_again
//
// Threads    under the gate (dispatcher/batch_gate.h), but for the destruction of the libraries
//            that install gives back.
//
// Invariants
//   M1  A library lives longer than everything that its definitions hold: their destructors are its
//       code. The engine is destroyed before this is.
//   M2  A procedure belongs to one module, or to the program. The program's stay its own; one that
//       was removed becomes its whose module defines it next.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "dispatcher/database.h"
#include "dispatcher/module_library.h"
#include "dispatcher/procedure_directory.h"
#include "oltp/engine.h"

namespace diptych::dispatcher {

// One that is about to be registered: what engine and directory take of it.
struct NewProcedure {
  explicit NewProcedure(oltp::ProcedureDefinition procedure);

  std::unique_ptr<ProcedureSignature> signature;
  std::unique_ptr<oltp::ProcedureDefinition> definition;
};
// To both of them, with one id. The engine has made room for it: so nothing throws.
base::ProcedureId add_procedure(NewProcedure procedure, oltp::Engine* engine,
                                ProcedureDirectory* directory) noexcept;

class ModuleRegistry {
 public:
  struct Defined {
    std::vector<oltp::ProcedureDefinition> procedures;
    uint64_t bound = 0;  // ProcedureRegistrar::bound
  };
  // What the module defines, bound against the catalog. An error is the module's own, or kAborted:
  // it threw; kOutOfMemory: std::bad_alloc.
  static base::Result<void> define(const ModuleLibrary& library, const base::Catalog& catalog,
                                   Defined* defined);

  // kAlreadyExists: a name is taken, or defined twice. kInvalidArgument: another signature than in
  // the module before. kOverloaded: too many.
  base::Result<void> check(const ModuleLibrary& library,
                           const std::vector<oltp::ProcedureDefinition>& definitions,
                           const ProcedureDirectory& directory) const;

  // After check. `*library` becomes the one that was replaced, of which nothing is in use. Throws
  // std::bad_alloc, if at all, before anything has changed.
  LoadedProcedures install(std::unique_ptr<ModuleLibrary>* library, Defined defined,
                           oltp::Engine* engine, ProcedureDirectory* directory);

  // The loaded modules that would bind other tables or indexes of this catalog than they have, with
  // what they would define. An error says which module would no longer load, and why.
  using Rebound = std::map<std::string, Defined, std::less<>>;
  base::Result<Rebound> rebind(const base::Catalog& catalog,
                               const ProcedureDirectory& directory) const;
  // As install, of libraries that stay.
  void install_again(Rebound rebound, oltp::Engine* engine, ProcedureDirectory* directory);

  bool empty() const { return libraries_.empty(); }
  bool has(std::string_view module) const { return libraries_.contains(module); }
  // Empty: the program's own.
  std::string_view module_of(base::ProcedureId procedure) const;
  bool is_removed(base::ProcedureId procedure) const;

 private:
  struct Owned {
    std::string module;
    bool removed = false;
  };

  // What install changes, made before it changes anything.
  struct Prepared;
  Prepared prepare(std::string module, std::vector<oltp::ProcedureDefinition> definitions,
                   const ProcedureDirectory& directory) const;
  void take_over(Prepared* prepared, oltp::Engine* engine, ProcedureDirectory* directory) noexcept;

  struct Loaded {
    std::unique_ptr<ModuleLibrary> library;
    uint64_t bound = 0;
  };
  std::map<std::string, Loaded, std::less<>> libraries_;  // by module
  std::map<base::ProcedureId, Owned> procedures_;
};

}  // namespace diptych::dispatcher
