// Command: one subcommand of the program: its options, and what it does once they are parsed.
//
// A derived class declares its options on the CLI11 subcommand in its constructor and keeps their
// values as members; run() is called for the one that the user chose. Results go to standard
// output; errors, times and progress to standard error.

#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "cli/exit_code.h"
#include "cli/output.h"

namespace diptych::cli {

class Command {
 public:
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;

  bool chosen() const { return app_->parsed() && app_->get_subcommands().empty(); }
  virtual ExitCode run() = 0;

 protected:
  Command(CLI::App& parent, const std::string& name, const std::string& purpose,
          const std::string& examples)
      : app_(parent.add_subcommand(name, purpose)) {
    app_->footer("Examples:\n" + examples);
  }

  CLI::App& app() { return *app_; }

 private:
  CLI::App* app_;  // owned by its parent
};

}  // namespace diptych::cli
