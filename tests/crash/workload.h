// What runs in the processes that are killed, and how one tells that nothing is missing afterwards.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "dispatcher/database.h"
#include "tests/crash/ack_board.h"
#include "workloads/session_options.h"

namespace diptych::crash {

struct Findings {
  uint64_t lost = 0;       // acknowledged, and not there, or not in its order
  uint64_t half_done = 0;  // transactions of which only a part is there, or conditions violated
  std::vector<std::string> words;
};

// What the soak does beside the clients: places on the board. Loads, erasures, tables and drops of
// tables have numbers; the first kSoakThreads have a thread of their own.
enum SoakThing : size_t {
  kSoakQueries,
  kSoakLongQueries,
  kSoakLoads,
  kSoakTables,
  kSoakCheckpoints,
  kSoakBackups,
  kSoakThreads,
  kSoakErasures = kSoakThreads,
  kSoakDrops
};

class Workload {
 public:
  virtual ~Workload() = default;

  // Once, in a new directory, which is then closed.
  virtual base::Result<void> create(dispatcher::Database* database) = 0;
  // After each opening, before the data is used.
  virtual base::Result<void> attach(dispatcher::Database* database) = 0;
  // Calls until the process dies. An error is one that must not happen.
  virtual base::Result<void> run_client(size_t client, uint64_t seed, AckBoard* board) = 0;
  // What goes on beside the clients, one thread each, until the process dies.
  virtual size_t beside() const { return 0; }
  virtual base::Result<void> run_beside(size_t /*which*/, uint64_t /*seed*/, AckBoard* /*board*/) {
    return {};
  }
  // Takes note of what was acknowledged, and looks for all that ever was.
  virtual base::Result<void> check(const Told& told, Findings* findings) = 0;

  virtual dispatcher::DatabaseOptions options() const { return {}; }
  virtual uint64_t milliseconds_max() const = 0;  // of a process's life
};

std::unique_ptr<Workload> make_bank(const std::string& library, const std::string& schema);
std::unique_ptr<Workload> make_tpcc(workloads::SizePolicy size);
// TPC-C of constant size, with queries, long ones too, loads, DDL, checkpoints and backups beside
// it. A backup that is whole is at `backup`, one in the making beside it.
std::unique_ptr<Workload> make_soak(const std::string& backup);

}  // namespace diptych::crash
