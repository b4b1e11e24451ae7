// diptych load PATH TABLE FILE.csv [--delimiter C] [--null TEXT]: the rows of a CSV file, all or
// none (cli/csv_table.h). The options are those of PostgreSQL's COPY.

#pragma once

#include <string>

#include "cli/command.h"
#include "cli/csv_table.h"
#include "cli/progress_line.h"
#include "cli/signal_stop.h"
#include "dispatcher/database.h"

namespace diptych::cli {

class LoadCommand : public Command {
 public:
  explicit LoadCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  base::Result<CsvTable> read_rows(const base::TableSchema& schema, const SignalStop& stop,
                                   ProgressLine* progress) const;
  ExitCode load(dispatcher::Database* database, const base::TableSchema& schema,
                const CsvTable& rows, ProgressLine* progress) const;

  std::string path_;
  size_t memory_bytes_max_ = 0;
  std::string table_;
  std::string csv_path_;
  CsvFormat format_;
};

}  // namespace diptych::cli
