#include "workloads/drivers/query_driver.h"

#include <string>
#include <utility>

#include "base/clock.h"

namespace diptych::workloads {

namespace {
constexpr uint64_t kPauseNs = 5'000'000;  // after a failure
}

struct QueryDriver::Client : Completion {
  size_t query = 0;
  uint64_t submitted_ns = 0;
  uint64_t completed_ns = 0;
  std::string error;  // empty: it succeeded
};

QueryDriver::QueryDriver(dispatcher::Database* database, std::vector<NamedQuery> queries,
                         uint32_t clients, uint64_t seed, const PhaseSwitch* phase)
    : database_(database),
      queries_(std::move(queries)),
      statistics_(queries_.size()),
      random_(seed),
      phase_(phase) {
  for (uint32_t i = 0; i < clients; ++i) {
    clients_.push_back(std::make_unique<Client>());
    // 5 has no common divisor with 22 or 14: neighbours start far from each other.
    if (!queries_.empty()) clients_.back()->query = i * 5 % queries_.size();
  }
}

QueryDriver::~QueryDriver() {
  join();
}

void QueryDriver::start() {
  if (clients_.empty() || queries_.empty()) return;
  thread_.start("query-clients", database_->placement().olap.cores, [this] { run(); });
}

void QueryDriver::join() {
  thread_.join();
}

void QueryDriver::run() {
  for (const auto& client : clients_) submit(client.get());
  while (in_flight_ > 0 || (!pausing_.empty() && phase_->calls_go_on())) {
    completions_.wait(1, pausing_.empty() ? 0 : kPauseNs);
    const std::vector<Client*> again = std::exchange(pausing_, {});
    Completion* next = completions_.take_all();
    while (next != nullptr) {
      auto* const client = static_cast<Client*>(next);
      next = next->next;
      --in_flight_;
      record(*client);
      client->query = (client->query + 1) % queries_.size();
      if (!phase_->calls_go_on()) continue;
      if (client->error.empty()) {
        submit(client);
      } else {
        pausing_.push_back(client);
      }
    }
    for (Client* client : again) {
      if (phase_->calls_go_on()) submit(client);
    }
  }
}

void QueryDriver::submit(Client* client) {
  client->submitted_ns = base::steady_ns();
  ++in_flight_;
  auto submitted =
      database_->submit_query(instantiate(queries_[client->query].text, &random_),
                              [this, client](const base::Result<dispatcher::QueryResult>& result) {
                                client->completed_ns = base::steady_ns();
                                client->error = result ? std::string() : result.error().to_string();
                                completions_.push(client);
                              });
  if (submitted) return;
  --in_flight_;
  client->completed_ns = base::steady_ns();
  client->error = submitted.error().to_string();
  record(*client);
  pausing_.push_back(client);
}

void QueryDriver::record(const Client& client) {
  CallStatistics& statistics = statistics_[client.query];
  if (!client.error.empty()) {
    ++statistics.failed;
    if (statistics.error.empty()) statistics.error = client.error;
  } else if (phase_->calls_count()) {
    ++statistics.completed;
    statistics.latency_ns.record(client.completed_ns - client.submitted_ns);
  }
}

}  // namespace diptych::workloads
