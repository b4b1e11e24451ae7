#include "workloads/drivers/transaction_driver.h"

#include <algorithm>

#include "base/clock.h"
#include "workloads/drivers/drawn_call.h"
#include "workloads/drivers/log_wait.h"

namespace diptych::workloads {

using dispatcher::Request;

struct TransactionDriver::Client : Completion, DrawnCall {
  TransactionDriver* driver = nullptr;
  uint64_t submitted_ns = 0;
  uint64_t completed_ns = 0;
};

TransactionDriver::TransactionDriver(dispatcher::Database* database,
                                     const tpcc::Procedures& procedures, uint32_t clients,
                                     int32_t warehouses, uint64_t seed, const PhaseSwitch* phase)
    : database_(database), procedures_(procedures), inputs_(seed, warehouses), phase_(phase) {
  for (uint32_t i = 0; i < clients; ++i) {
    clients_.push_back(std::make_unique<Client>());
    clients_.back()->driver = this;
  }
}

TransactionDriver::~TransactionDriver() {
  join();
}

void TransactionDriver::start() {
  if (clients_.empty()) return;
  thread_.start("txn-clients", database_->placement().oltp.cores, [this] { run(); });
}

void TransactionDriver::join() {
  thread_.join();
}

void TransactionDriver::run() {
  for (const auto& client : clients_) submit(client.get());
  const int64_t half = std::max<int64_t>(1, static_cast<int64_t>(clients_.size()) / 2);
  LogWait log_wait(database_, phase_);
  while (in_flight_ > 0) {
    completions_.wait(std::min(half, in_flight_), LogWait::kLookNs);
    Completion* next = completions_.take_all();
    log_wait.look(next != nullptr);
    while (next != nullptr) {
      auto* const client = static_cast<Client*>(next);
      next = next->next;
      --in_flight_;
      record(*client);
      if (phase_->calls_go_on()) submit(client);
    }
  }
}

void TransactionDriver::submit(Client* client) {
  client->draw(&inputs_, procedures_);
  client->request.complete = &complete;
  client->request.context = client;
  client->submitted_ns = base::steady_ns();
  ++in_flight_;
  auto submitted = database_->submit(&client->request, dispatcher::Admission::kWait);
  if (submitted) return;
  // Not admitted though we waited: the database is closed. The client ends here.
  --in_flight_;
  CallStatistics& statistics = statistics_[static_cast<size_t>(client->type)];
  ++statistics.failed;
  if (statistics.error.empty()) statistics.error = submitted.error().to_string();
}

void TransactionDriver::record(const Client& client) {
  CallStatistics& statistics = statistics_[static_cast<size_t>(client.type)];
  const auto& outcome = client.request.outcome;
  if (!outcome && outcome.code() != base::ErrorCode::kAborted) {
    ++statistics.failed;
    if (statistics.error.empty()) statistics.error = outcome.error().to_string();
    return;
  }
  if (!phase_->calls_count()) return;
  ++(outcome ? statistics.completed : statistics.aborted);
  statistics.conflicts += client.request.conflicts;
  statistics.latency_ns.record(client.completed_ns - client.submitted_ns);
}

void TransactionDriver::complete(Request* request) {
  auto* const client = static_cast<Client*>(request->context);
  client->completed_ns = base::steady_ns();
  client->driver->completions_.push(client);
}

}  // namespace diptych::workloads
