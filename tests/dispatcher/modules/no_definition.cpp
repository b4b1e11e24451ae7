// A module that procedure_module() would not give: nothing defines its procedures.

#include "dispatcher/procedure_module.h"

namespace diptych::dispatcher {
namespace {

base::Result<void> define(ProcedureRegistrar&) {
  return {};
}

consteval ProcedureModule without_definition() {
  ProcedureModule module = procedure_module("undefined", &define);
  module.define = nullptr;
  return module;
}

}  // namespace
}  // namespace diptych::dispatcher

constinit const diptych::dispatcher::ProcedureModule diptych_procedure_module =
    diptych::dispatcher::without_definition();
