// The program: its subcommands, and how a command line becomes an exit code.

#pragma once

#include "cli/exit_code.h"

namespace diptych::cli {

// Parses the command line and runs what it names. Never throws.
ExitCode run_program(int argument_count, const char* const* arguments);

}  // namespace diptych::cli
