#include "dispatcher/oltp_dispatcher.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/amount_text.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/split_mix.h"
#include "base/thread.h"
#include "dispatcher/late_answers.h"

namespace diptych::dispatcher {
namespace {

base::Error unfit(const ProcedureSignature& procedure, const char* what, size_t bytes,
                  size_t expected) {
  return {base::ErrorCode::kInvalidArgument,
          fmt::format("procedure \"{}\": {} has {} bytes, but was registered with {}",
                      procedure.name, what, bytes, expected)};
}

// Its arguments, and the texts that they point at.
size_t logged_bytes(const ProcedureSignature& procedure, std::span<const std::byte> arguments) {
  size_t bytes = arguments.size();
  for (const oltp::TextCell& cell : procedure.argument_texts) {
    if (cell.null_offset && arguments[*cell.null_offset] != std::byte{0}) continue;
    base::Text text;
    std::memcpy(&text, arguments.data() + cell.offset, sizeof text);
    bytes += text.size;
  }
  return bytes;
}

void say_that_transactions_wait(size_t pending_bytes, size_t bytes_max, uint64_t age_ns) {
  base::notify(
      "transactions wait for the analytical replica: {} of updates are pending, the limit is {}; "
      "the "
      "oldest change that it has not seen was made {} ago (said again after a minute without)",
      base::bytes_text(pending_bytes), base::bytes_text(bytes_max), base::duration_text(age_ns));
}

}  // namespace

OltpDispatcher::OltpDispatcher(const OltpDispatcherOptions& options, oltp::Engine* engine,
                               const ProcedureDirectory* procedures,
                               propagation::UpdateQueue* updates, BatchGate* gate,
                               FreshnessClock* clock, std::function<void()> apply_now)
    : options_(options),
      begin_ns_(base::steady_ns()),
      engine_(engine),
      procedures_(procedures),
      updates_(updates),
      gate_(gate),
      clock_(clock),
      apply_now_(std::move(apply_now)),
      while_batch_waits_([this] { answer_late_calls(); }),
      queues_(options.limits, options.spin),
      arrivals_(options.spin),
      seeds_(options.random_seed),
      wait_notice_(options.wait_notice_pause_ns),
      full_notice_(options.wait_notice_pause_ns) {
  DIPTYCH_CHECK(options.batch_requests_max != 0, "Database::open checks its options");
  thread_ = base::Thread([this] { run(); });
}

OltpDispatcher::~OltpDispatcher() {
  stop();
}

void OltpDispatcher::stop() {
  if (!thread_.joinable()) return;
  queues_.close();
  arrivals_.wake_all();
  thread_.join();
}

uint64_t OltpDispatcher::back_pressure_waits() const {
  // relaxed: a figure to look at.
  return back_pressure_waits_.load(std::memory_order_relaxed);
}

uint64_t OltpDispatcher::back_pressure_ns() const {
  // relaxed: figures to look at, here and below; a wait that ends in between counts twice or not.
  const uint64_t since_ns = waits_since_ns_.load(std::memory_order_relaxed);
  // relaxed: as above.
  const uint64_t ended_ns = back_pressure_ns_.load(std::memory_order_relaxed);
  return ended_ns + (since_ns == 0 ? 0 : base::steady_ns() - since_ns);
}

void OltpDispatcher::report(Metrics* metrics) const {
  const AdmissionFigures admission = queues_.figures();
  metrics->calls_refused = admission.refused;
  metrics->clients_refused += admission.clients_refused;
  metrics->clients = admission.clients;
  metrics->calls_in_flight = admission.in_flight;
  metrics->calls_waiting = admission.waiting;
  for (const uint64_t calls : admission.in_flight) metrics->transactions_in_flight += calls;
  metrics->back_pressure_waits = back_pressure_waits();
  metrics->back_pressure_ns = back_pressure_ns();
  const std::lock_guard lock(figures_mutex_);
  metrics->calls_failed = figures_.failed;
  metrics->batch_calls = figures_.batch_calls;
  metrics->batch_ns = figures_.batch_ns;
  metrics->call_wait_ns = figures_.call_wait_ns;
}

base::Result<void> OltpDispatcher::check(const oltp::Request& request) const {
  const ProcedureSignature* procedure = procedures_->find(request.procedure);
  if (request.procedure == oltp::kUnboundProcedure) {
    return base::Error(base::ErrorCode::kInvalidArgument,
                       "the ref to the procedure was never bound");
  }
  if (procedure == nullptr) {
    return base::Error(base::ErrorCode::kInvalidArgument,
                       fmt::format("no procedure has the id {}", request.procedure.value));
  }
  if (request.arguments.size() != procedure->argument_bytes) {
    return unfit(*procedure, "the argument", request.arguments.size(), procedure->argument_bytes);
  }
  if (!request.reply.empty() && request.reply.size() != procedure->reply_bytes) {
    return unfit(*procedure, "the reply", request.reply.size(), procedure->reply_bytes);
  }
  if (request.cells_hash != procedure->cells_hash && request.cells_hash != 0) [[unlikely]] {
    return base::Error(base::ErrorCode::kInvalidArgument,
                       fmt::format("procedure \"{}\" has other arguments or another reply than the "
                                   "ref by which it is called: bind the ref in this database",
                                   procedure->name));
  }
  const bool is_logged = options_.log != nullptr && options_.log->logs_calls();
  if (is_logged && logged_bytes(*procedure, request.arguments) > kArgumentBytesMax) {
    return base::Error(base::ErrorCode::kInvalidArgument,
                       fmt::format("procedure \"{}\": the log takes no call with more than {} MiB "
                                   "of arguments",
                                   procedure->name, kArgumentBytesMax >> 20));
  }
  if (request.complete == nullptr) {
    return base::Error(base::ErrorCode::kInvalidArgument, "the request has no completion");
  }
  return {};
}

base::Timestamp OltpDispatcher::now() const {
  using std::chrono::microseconds, std::chrono::nanoseconds, std::chrono::system_clock;
  const auto since = [](auto time) {
    return std::chrono::duration_cast<microseconds>(time).count();
  };
  if (!options_.time_origin) return {since(system_clock::now().time_since_epoch())};
  return {options_.time_origin->micros + since(nanoseconds(base::steady_ns() - begin_ns_))};
}

base::Result<void> OltpDispatcher::submit(oltp::Request* request, CallQueue* queue,
                                          Admission admission) {
  auto submitted = try_submit(request, queue, admission);
  if (!submitted) [[unlikely]]
    queues_.note_refusal(submitted.code());
  return submitted;
}

base::Result<void> OltpDispatcher::try_submit(oltp::Request* request, CallQueue* queue,
                                              Admission admission) {
  if (auto checked = check(*request); !checked) return checked;
  if (options_.log != nullptr && options_.log->refuses()) [[unlikely]] {
    if (auto refusal = options_.log->refusal()) return *refusal;
  }
  if (auto admitted = queues_.admit(queue, admission, request->deadline_ns); !admitted) {
    return admitted;
  }
  request->now = now();
  // relaxed: it only shares out states; no two requests get the same.
  const uint64_t state = seeds_.fetch_add(base::kSplitMixStep, std::memory_order_relaxed);
  request->random_seed = base::split_mix(state + base::kSplitMixStep);
  request->submitted_ns = base::steady_ns();
  request->conflicts = 0;
  request->admitted_by = &queue->tokens();
  queues_.push(queue, request, request->deadline_ns);
  arrivals_.wake_all();
  return {};
}

void OltpDispatcher::run() {
  base::mark_this_thread_as_of(this);
  // The engine's leader is its worker 0, so it takes the first core; worker i takes core i.
  const std::vector<uint32_t>& cores = options_.placement.cores;
  if (!cores.empty()) base::pin_this_thread(std::span(cores).first(1));
  base::name_this_thread("oltp-dispatcher");
  while (true) {
    const uint32_t ticket = arrivals_.ticket();
    if (fill_batch()) {
      if (wait_until_batch_may_start(while_batch_waits_)) {
        drop_expired(&batch_, base::steady_ns());
        complete_expired();
      }
      run_one_batch();
    } else if (queues_.drained()) {
      return;
    } else {
      arrivals_.wait(ticket);
    }
  }
}

bool OltpDispatcher::fill_batch() {
  batch_.clear();
  batch_.swap(again_);
  const uint64_t now_ns = base::steady_ns();
  drop_expired(&batch_, now_ns);
  const size_t repeated = batch_.size();
  const size_t late = expired_.size();
  queues_.fill(batch_limit(), now_ns, &batch_, &expired_);
  taken_ += batch_.size() - repeated + expired_.size() - late;
  oldest_ns_ = 0;
  for (const oltp::Request* const request : std::span(batch_).subspan(repeated)) {
    const uint64_t since_ns = request->submitted_ns;
    if (oldest_ns_ == 0 || since_ns < oldest_ns_) oldest_ns_ = since_ns;
  }
  complete_expired();
  return !batch_.empty();
}

size_t OltpDispatcher::batch_limit() {
  // relaxed: a figure; one that is a little old makes the batch a little larger.
  const uint64_t answered = answered_.load(std::memory_order_relaxed);
  const size_t in_flight = queues_.waiting() + (taken_ - answered);
  return std::min<size_t>(options_.batch_requests_max, std::max(kBatchMin, (in_flight + 1) / 2));
}

void OltpDispatcher::drop_expired(std::vector<oltp::Request*>* requests, uint64_t now_ns) {
  const auto has_passed = [now_ns](const oltp::Request* request) {
    return request->deadline_ns != 0 && request->deadline_ns <= now_ns;
  };
  const auto end = std::stable_partition(requests->begin(), requests->end(),
                                         [&](const auto* request) { return !has_passed(request); });
  expired_.insert(expired_.end(), end, requests->end());
  requests->erase(end, requests->end());
}

void OltpDispatcher::complete_expired() {
  if (expired_.empty()) return;
  for (oltp::Request* const request : expired_) {
    request->outcome = base::ErrorCode::kDeadlineExceeded;
  }
  complete(expired_);
  expired_.clear();
}

void OltpDispatcher::answer_late_calls() {
  const uint64_t now_ns = base::steady_ns();
  drop_expired(&batch_, now_ns);
  const size_t of_batch = expired_.size();
  queues_.drop_expired(now_ns, &expired_);
  taken_ += expired_.size() - of_batch;
  complete_expired();
}

bool OltpDispatcher::wait_until_batch_may_start(const std::function<void()>& meanwhile) {
  if (options_.log != nullptr) options_.log->wait_for_room(meanwhile);
  const size_t pending = updates_->pending_bytes();
  if (pending <= options_.pending_update_bytes_max) return false;
  const uint64_t since_ns = base::steady_ns();
  // relaxed: figures to look at, here and below, and this thread is their only writer.
  waits_since_ns_.store(since_ns, std::memory_order_relaxed);
  // relaxed: as above.
  back_pressure_waits_.fetch_add(1, std::memory_order_relaxed);
  if (wait_notice_.is_due(since_ns)) {
    say_that_transactions_wait(pending, options_.pending_update_bytes_max,
                               clock_->age_ns(since_ns));
  }
  // Once: nothing is pushed meanwhile, so one application takes all. It rings the queue's parker
  // itself: a wish in each round would end each wait at once.
  apply_now_();
  LateAnswers late(meanwhile);
  while (true) {
    const uint32_t ticket = updates_->parker().ticket();
    if (updates_->pending_bytes() <= options_.pending_update_bytes_max) break;
    static_cast<void>(updates_->parker().wait_for(ticket, kLateAnswerNs));
    late.waited();
  }
  // relaxed: as above.
  waits_since_ns_.store(0, std::memory_order_relaxed);
  const uint64_t end_ns = base::steady_ns();
  wait_notice_.goes_on(end_ns);
  // relaxed: as above.
  back_pressure_ns_.fetch_add(end_ns - since_ns, std::memory_order_relaxed);
  return true;
}

void OltpDispatcher::run_one_batch() {
  CommandLog* const log = options_.log;
  oltp::BatchReport report;
  {
    const BatchGate::Passage passage = gate_->pass(Side::kOltp, while_batch_waits_);
    // In the passage: what would leave a gap in the log happens outside of it.
    if (log != nullptr && log->refuses()) [[unlikely]] {
      if (const auto refusal = log->refusal()) return refuse_batch(*refusal);
    }
    if (engine_failure_) [[unlikely]]
      return refuse_batch(*engine_failure_);
    const uint64_t start_ns = base::steady_ns();
    drop_expired(&batch_, start_ns);  // at the gate
    tell_room();
    clock_->batch_begins(start_ns);
    report = engine_->run_batch(batch_);
    clock_->batch_ends(engine_->last_vid());
    if (report.has_run) note_batch(start_ns);
    again_ = std::move(report.again);
    collect_ended();
    if (log != nullptr) log->append(ended_, engine_->last_vid());
  }
  if (options_.slow_watch != nullptr) options_.slow_watch->ended(report.slow);
  complete_expired();
  if (log == nullptr) complete(ended_);
}

void OltpDispatcher::note_batch(uint64_t start_ns) {
  const uint64_t end_ns = base::steady_ns();
  const std::lock_guard lock(figures_mutex_);
  figures_.batch_calls.record(batch_.size());
  figures_.batch_ns.record(end_ns - start_ns);
  if (oldest_ns_ != 0) figures_.call_wait_ns.record(start_ns - oldest_ns_);
}

void OltpDispatcher::tell_room() {
  if (options_.data_room == nullptr) return;
  const size_t room = options_.data_room();
  engine_->set_room(room);
  if (room != 0) [[likely]]
    return;
  const uint64_t now_ns = base::steady_ns();
  if (full_notice_.is_due(now_ns)) {
    base::notify(
        "the data has the memory that it may take (data_memory_bytes_max): calls that need more "
        "are refused, but for rows in place of erased ones of their table, until a table is "
        "dropped "
        "or emptied (said again after a minute without)");
  }
  full_notice_.goes_on(now_ns);
}

void OltpDispatcher::refuse_batch(const base::Error& why) {
  for (oltp::Request* const request : batch_) request->outcome = why;
  complete(batch_);
}

void OltpDispatcher::collect_ended() {
  ended_.clear();
  if (again_.empty()) {
    ended_.swap(batch_);
    return;
  }
  std::vector<oltp::Request*> unfinished(again_);
  std::sort(unfinished.begin(), unfinished.end());
  for (oltp::Request* const request : batch_) {
    if (std::binary_search(unfinished.begin(), unfinished.end(), request)) continue;
    ended_.push_back(request);
  }
}

void OltpDispatcher::complete(std::span<oltp::Request* const> ended) {
  {
    TokenReturn tokens;
    for (oltp::Request* const request : ended) {
      if (!request->outcome) [[unlikely]] {
        const std::lock_guard lock(figures_mutex_);
        ++figures_.failed[static_cast<size_t>(request->outcome.code())];
      }
      // The token first: a completion that submits its successor finds room for it.
      tokens.give_back(static_cast<AdmissionTokens*>(request->admitted_by));
      request->complete(request);  // the request may be gone from here on
    }
  }
  // relaxed: a figure.
  answered_.fetch_add(ended.size(), std::memory_order_relaxed);
  // The last ones, after stop(): the dispatcher's thread waits for them.
  if (options_.log != nullptr && queues_.drained()) arrivals_.wake_all();
}

}  // namespace diptych::dispatcher
