// A module that calls what no program has.

#include "dispatcher/procedure_module.h"

namespace diptych::oltp {
void gone_since_the_last_version(int table);
}

namespace {

diptych::base::Result<void> define(diptych::dispatcher::ProcedureRegistrar&) {
  diptych::oltp::gone_since_the_last_version(1);
  return {};
}

}  // namespace

constinit const diptych::dispatcher::ProcedureModule diptych_procedure_module =
    diptych::dispatcher::procedure_module("undefined", &define);
