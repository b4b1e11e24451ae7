// LoggedTransactions: the transactions that the log has after the manifest's VID, run again.
//
//   open      manifest, rows ─► scan_log ─► nothing to replay: open
//                                      └──► procedures are registered and loaded ─► replay ─► open
//
// Procedures come after open(), so replay waits for the first call, query or other use of the data;
// it then needs all that the log names. Who uses nothing leaves log and manifest as they are.
//
// Threads    one, which holds the OLTP side of the gate for each batch; meanwhile the OLAP side
//            applies what is replayed.

#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "dispatcher/command_log/log_reader.h"
#include "dispatcher/module_registry.h"
#include "dispatcher/procedure_directory.h"
#include "oltp/engine.h"
#include "oltp/request.h"

namespace diptych::dispatcher {

class LoggedTransactions {
 public:
  // `after`: the manifest's VID.
  LoggedTransactions(std::string directory, base::Vid after, LogContents contents);

  const LogContents& contents() const { return contents_; }

  // kNotFound: a procedure that the log names is not there, or no more (`modules`);
  // kInvalidArgument: it takes other arguments than it did, or is of another version. All name it,
  // and say what to do.
  base::Result<void> check(const ProcedureDirectory& procedures,
                           const ModuleRegistry& modules) const;
  // The names of those that are not there.
  std::vector<std::string> missing(const ProcedureDirectory& procedures,
                                   const ModuleRegistry& modules) const;

  // After check. `run` gets each batch: it replays it on the engine, inside of the gate. An error
  // is `run`'s own, with the log file and VID in front; memory is then neither here nor there.
  using Run = std::function<base::Result<void>(std::span<oltp::Request* const> requests,
                                               oltp::InsertedOfRequests inserted)>;
  // Batches of a physical log.
  using Apply = std::function<base::Result<void>(std::span<const propagation::BatchRuns> batches)>;
  base::Result<void> replay(const ProcedureDirectory& procedures, const Run& run,
                            const Apply& apply);

 private:
  struct ReplayedProcedure {
    base::ProcedureId id;
    std::vector<oltp::TextCell> texts;
  };

  base::Result<void> replay_batch(const ProcedureDirectory& procedures, LoggedBatch& batch,
                                  const Run& run);
  const ReplayedProcedure& replayed_procedure(const ProcedureDirectory& procedures,
                                              const ProcedureInLog& logged);
  void fill_texts(const ReplayedProcedure& procedure, const LoggedCall& call,
                  std::vector<std::byte>* arguments);

  const std::string directory_;
  const base::Vid after_;
  const LogContents contents_;

  std::map<std::string, ReplayedProcedure, std::less<>> replayed_procedures_;  // by name
  // The batch's; as large as any was.
  std::vector<oltp::Request> requests_;
  std::vector<oltp::Request*> request_places_;
  std::vector<std::span<const base::RowId>> inserted_;
  std::vector<std::vector<std::byte>> arguments_;  // of calls with texts
};

}  // namespace diptych::dispatcher
