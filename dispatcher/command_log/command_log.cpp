#include "dispatcher/command_log/command_log.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <xxhash.h>

#include "base/alignment.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/thread.h"

namespace diptych::dispatcher {
namespace {

constexpr uint64_t kSpaceRetryNs = 50'000'000;
constexpr uint64_t kWishAgainNs = 1'000'000'000;
constexpr size_t kNotedBytesKept = size_t{32} << 20;  // of memory, from batch to batch

}  // namespace

uint64_t argument_signature(const ProcedureSignature& procedure) {
  std::string text = fmt::format("{}", procedure.argument_bytes);
  for (const base::BoundColumn& column : procedure.argument_columns) {
    text += fmt::format(";{} {} {} {}", column.name, column.type.to_string(), column.offset,
                        column.nullability == base::Nullability::kNullable);
  }
  return XXH3_64bits(text.data(), text.size());
}

void CommandLog::Group::clear() {
  frame.clear();
  requests.clear();
  for (const uint32_t procedure : procedures) names[procedure] = false;
  procedures.clear();
}

CommandLog::CommandLog(CommandLogOptions options, const oltp::Engine* engine,
                       const ProcedureDirectory* procedures, Complete complete,
                       std::function<void()> checkpoint_is_due)
    : options_(std::move(options)),
      engine_(engine),
      procedures_(procedures),
      complete_(std::move(complete)),
      checkpoint_is_due_(std::move(checkpoint_is_due)),
      files_({options_.directory, options_.database_id, options_.identity}, options_.file_bytes_max,
             &options_.faults),
      uncovered_(options_.checkpoint_bytes, options_.file_bytes_max),
      work_(options_.spin),
      progress_(options_.spin),
      watch_(options_.directory, [this] { answer_expired("the disk"); }) {
  thread_ = base::Thread([this] { run(); });
}

CommandLog::~CommandLog() {
  stop();
}

void CommandLog::set_position(base::Vid last, LogPosition position) {
  const std::lock_guard lock(mutex_);
  positioned_ = true;
  appended_ = last;
  logged_ = last;
  sequence_ = position.next_sequence;
  uncovered_.set(position.bytes);
  update_hurry();
  files_.set_present(std::move(position.files), position.next_number);
  // release: pairs with the acquire in wait_until_durable.
  durable_vid_.store(last.value, std::memory_order_release);
}

const CommandLog::Known& CommandLog::known(uint32_t procedure) {
  if (procedure >= known_.size()) known_.resize(procedure + 1);
  Known& known = known_[procedure];
  if (known.ready) return known;
  known.texts = procedures_->find(base::ProcedureId(procedure))->argument_texts;
  known.ready = true;
  return known;
}

void CommandLog::encode(Group* group) {
  if (group->frame.empty()) group->start = appended_;
  group->frame.begin_batch(appended_);
  for (const oltp::Request* const request : committed_) {
    const uint32_t procedure = request->procedure.value;
    group->frame.add(procedure, request->now, request->random_seed, request->read_vid,
                     request->commit_vid, request->arguments, known(procedure).texts,
                     engine_->inserted_rows(*request));
    if (procedure >= group->names.size()) group->names.resize(procedure + 1);
    if (group->names[procedure]) continue;
    group->names[procedure] = true;
    group->procedures.push_back(procedure);
  }
}

void CommandLog::note_updates(std::span<const propagation::SealedSet> sets) {
  noted_.clear();
  noted_bytes_.clear();
  if (options_.content != LogContent::kUpdates || !positioned_) return;
  for (const propagation::SealedSet& set : sets) {
    const size_t begin = noted_bytes_.size();
    for (const propagation::UpdateSet::Chunk& chunk : set.updates->chunks()) {
      noted_bytes_.insert(noted_bytes_.end(), chunk.data, chunk.data + chunk.used);
    }
    noted_.push_back({set.table, noted_bytes_.size() - begin});
  }
  note_memory();
}

void CommandLog::note_memory() {
  // relaxed: a figure to look at.
  noted_memory_bytes_.store(noted_bytes_.capacity(), std::memory_order_relaxed);
}

void CommandLog::encode_updates(Group* group) {
  if (group->frame.empty()) group->start = appended_;
  group->frame.begin_batch(appended_);
  std::vector<propagation::RecordRun> runs;
  std::span<const std::byte> left(noted_bytes_);
  for (const NotedRun& noted : noted_) {
    runs.push_back({noted.table, left.first(noted.bytes)});
    left = left.subspan(noted.bytes);
  }
  group->frame.add_updates(static_cast<uint32_t>(committed_.size()), runs);
  if (noted_bytes_.capacity() <= kNotedBytesKept) return;
  noted_bytes_ = std::vector<std::byte>();
  note_memory();
}

void CommandLog::append(std::span<oltp::Request* const> ended, base::Vid last) {
  committed_.clear();
  for (oltp::Request* const request : ended) {
    if (request->outcome.ok() && request->commit_vid.value != 0) committed_.push_back(request);
  }
  const auto earlier = [](const oltp::Request* a, const oltp::Request* b) {
    return a->commit_vid < b->commit_vid;
  };
  if (!std::is_sorted(committed_.begin(), committed_.end(), earlier)) {
    std::sort(committed_.begin(), committed_.end(), earlier);
  }
  bool at_once = false;
  {
    const std::lock_guard lock(mutex_);
    DIPTYCH_CHECK(appended_.value + committed_.size() == last.value, "L1: no VID is left out");
    // What the log failed to write stays in memory, and what has read it must not be answered.
    at_once = committed_.empty() && filling_.empty() && !writes_ && !failure_;
    if (!at_once) {
      if (!committed_.empty() && options_.content == LogContent::kCalls) encode(&filling_);
      if (!committed_.empty() && options_.content == LogContent::kUpdates)
        encode_updates(&filling_);
      appended_ = last;
      filling_.last = last;
      filling_.requests.insert(filling_.requests.end(), ended.begin(), ended.end());
    }
  }
  if (at_once) {
    complete_(ended);
  } else {
    work_.wake_all();
  }
}

void CommandLog::skip_to(base::Vid last) {
  const std::lock_guard lock(mutex_);
  appended_ = last;
}

void CommandLog::wait_until_durable(base::Vid vid) {
  while (true) {
    const uint32_t ticket = progress_.ticket();
    // acquire: pairs with the release where it is raised.
    if (durable_vid_.load(std::memory_order_acquire) >= vid.value || refuses()) return;
    progress_.wait(ticket);
  }
}

std::optional<base::Error> CommandLog::refusal() const {
  const std::lock_guard lock(mutex_);
  return failure_ ? failure_ : suspension_ ? suspension_ : stall_;
}

base::Result<void> CommandLog::check() const {
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  return {};
}

void CommandLog::update_refusal() {
  // release: pairs with the acquire in refuses.
  refuses_.store(failure_ || suspension_ || stall_, std::memory_order_release);
  update_hurry();
  progress_.wake_all();
}

void CommandLog::suspend(const base::Error& why) {
  {
    const std::lock_guard lock(mutex_);
    suspension_ = why;
    update_refusal();
  }
  work_.wake_all();
}

bool CommandLog::is_suspended() const {
  const std::lock_guard lock(mutex_);
  return suspension_.has_value();
}

CommandLog::End CommandLog::durable_end() const {
  const std::lock_guard lock(mutex_);
  End end{.files = {}, .last = logged_};
  for (const BegunFile& file : files_.begun()) {
    if (end_.number != 0 && file.number > end_.number) break;
    const bool is_current = file.number == end_.number;
    end.files.push_back({file.number, file.start, is_current ? end_.bytes : UINT64_MAX});
  }
  return end;
}

void CommandLog::give_up_waiting() {
  {
    const std::lock_guard lock(mutex_);
    waits_for_space_ = false;
  }
  work_.wake_all();
  progress_.wake_all();
}

void CommandLog::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    waits_for_space_ = false;
    stopping_ = true;
  }
  work_.wake_all();
  thread_.join();
  watch_.stop();
  files_.stop();
  progress_.wake_all();
}

void CommandLog::remove_files() {
  // What stays is covered, and is dropped after the next start.
  static_cast<void>(files_.remove_all());
}

void CommandLog::report(Metrics* metrics) const {
  const std::lock_guard lock(mutex_);
  metrics->log_bytes = figures_.log_bytes;
  metrics->log_groups = figures_.log_groups;
  metrics->log_write_ns = figures_.log_write_ns;
  metrics->log_writing_ns = watch_.waited_ns();
  metrics->log_files = files_.file_count();
  metrics->log_uncovered_bytes = uncovered_.bytes();
  metrics->checkpoint_waits = figures_.checkpoint_waits;
  metrics->checkpoint_wait_ns = figures_.checkpoint_wait_ns;
  if (held_since_ns_ != 0) metrics->checkpoint_wait_ns += base::steady_ns() - held_since_ns_;
  metrics->log_waiting_bytes =
      writing_bytes_ + (filling_.frame.empty() ? 0 : filling_.frame.bytes());
  metrics->log_refuses = {failure_.has_value(), stall_.has_value(), suspension_.has_value()};
  // relaxed: a figure to look at.
  metrics->durable_vid = base::Vid(durable_vid_.load(std::memory_order_relaxed));
  // relaxed: as above.
  const size_t noted = noted_memory_bytes_.load(std::memory_order_relaxed);
  metrics->memory.log = writing_memory_bytes_ + filling_.memory_bytes() + noted;
}

void CommandLog::run() {
  base::mark_this_thread_as_of(this);
  // Where all cores are busy it would wait for the end of somebody's slice each time that a write
  // has ended; so would the ring's workers, which have the usual priority: who is let in at once
  // waits for the disk itself, and where it takes nothing from the transactions. Else anywhere:
  // wherever it is let in first.
  base::name_this_thread("oltp-log");
  const bool is_first = base::raise_priority_of_this_thread();
  if (is_first) base::pin_this_thread(options_.cores);
  const bool by_calls = is_first && !options_.faults.log_by_ring;
  ring_.emplace(by_calls ? LogWay::kCalls : LogWay::kRing);
  while (take_group()) {
    if (options_.faults.reply_early) {
      complete_(std::exchange(writing_.requests, {}));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // for a kill to fall into
    }
    watch_.begins();
    const auto written = write_group();
    watch_.ends();
    finish_group(written);
  }
}

bool CommandLog::take_group() {
  while (true) {
    const uint32_t ticket = work_.ticket();
    bool file_wanted = false;
    bool suspended = false;
    {
      const std::lock_guard lock(mutex_);
      suspended = suspension_.has_value();
      file_wanted = files_begun_ < files_wanted_;
      if (!file_wanted && !filling_.empty()) {
        std::swap(filling_, writing_);
        writes_ = true;
        writing_bytes_ = writing_.frame.bytes();
        writing_memory_bytes_ = writing_.memory_bytes();
        break;
      }
      if (!file_wanted && stopping_) return false;
    }
    if (file_wanted) {
      begin_wanted_file();
    } else if (suspended) {
      static_cast<void>(work_.wait_for(ticket, kWishAgainNs));
      wish_checkpoint_again();
    } else {
      work_.wait(ticket);
    }
  }
  progress_.wake_all();  // there is room
  return true;
}

void CommandLog::begin_wanted_file() {
  uint64_t wanted = 0;
  bool failed = false;
  base::Vid start;
  {
    const std::lock_guard lock(mutex_);
    wanted = files_wanted_;
    failed = failure_.has_value();
    // Not what is durable, which a checkpoint raises before the log has it.
    start = logged_;
  }
  const LogFile* const current = files_.current();
  base::Result<void> begun;
  // A directory that was moved may come back, and nothing needs the file: who asked is told so.
  const bool may_begin = !failed && files_.is_in_place();
  if (may_begin && current != nullptr && current->used_bytes() > kLogHeaderBytes) {
    watch_.begins();
    begun = files_.begin_next(start, sequence_, 0);
    watch_.ends();
    if (begun) defined_.clear();
  }
  {
    const std::lock_guard lock(mutex_);
    // Without space the present one goes on, and stays longer.
    if (!begun && begun.code() != base::ErrorCode::kNoSpace) fail(begun.error());
    files_begun_ = wanted;
  }
  progress_.wake_all();
  say_failure();
}

LoggedProcedure CommandLog::definition(uint32_t procedure) const {
  const ProcedureSignature& signature = *procedures_->find(base::ProcedureId(procedure));
  return {.id = procedure,
          .name = signature.name,
          .argument_bytes = static_cast<uint32_t>(signature.argument_bytes),
          .texts = static_cast<uint32_t>(signature.argument_texts.size()),
          .signature = argument_signature(signature),
          .version = procedures_->version(base::ProcedureId(procedure))};
}

base::Result<void> CommandLog::write_group() {
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return *failure_;
  }
  if (writing_.frame.empty()) return {};
  size_t bytes = writing_.frame.bytes();
  for (const uint32_t procedure : writing_.procedures) {
    bytes += FrameWriter::kDefinitionBytes + definition(procedure).name.size();
  }
  bytes = base::round_up(bytes, kLogSectorBytes);
  if (files_.current() == nullptr || !files_.current()->has_room(bytes)) {
    if (auto begun = begin_next(writing_.start, bytes); !begun) return begun;
  }
  const uint64_t begin_ns = base::steady_ns();  // not while it waited for space
  // A version that is newer than a call's labels what a save has, which is not replayed: so it is
  // where a library is replaced.
  for (const uint32_t procedure : writing_.procedures) {
    if (procedure >= defined_.size()) defined_.resize(procedure + 1);
    const LoggedProcedure logged = definition(procedure);
    if (defined_[procedure] == logged.version) continue;
    writing_.frame.define(logged);
    defined_[procedure] = logged.version;
  }
  const auto frame = writing_.frame.seal(files_.current()->header().number, sequence_);
  if (auto appended = files_.append(frame, &*ring_); !appended) return appended;
  ++sequence_;
  const std::lock_guard lock(mutex_);
  const LogFileHeader& header = files_.current()->header();
  end_ = {header.number, header.start, files_.current()->used_bytes()};
  logged_ = writing_.last;
  figures_.log_bytes += frame.size();
  ++figures_.log_groups;
  figures_.log_write_ns.record(base::steady_ns() - begin_ns);
  // relaxed: raised under mutex_. A manifest may have it before the log does.
  const bool is_covered = durable_vid_.load(std::memory_order_relaxed) >= writing_.last.value;
  if (!is_covered) uncovered_.add(frame.size());
  update_hurry();
  return {};
}

base::Result<void> CommandLog::begin_next(base::Vid start, size_t bytes) {
  while (true) {
    auto begun = files_.begin_next(start, sequence_, bytes);
    if (begun) defined_.clear();
    const bool stalled = !begun && begun.code() == base::ErrorCode::kNoSpace;
    if (stalled && wait_for_space(begun.error())) continue;
    if (begun && stall_notice_) base::notify("the log has space again: transactions go on");
    stall_notice_.reset();
    const std::lock_guard lock(mutex_);
    stall_.reset();
    update_refusal();
    return begun;
  }
}

bool CommandLog::wait_for_space(const base::Error& error) {
  const uint32_t ticket = work_.ticket();
  {
    const std::lock_guard lock(mutex_);
    if (!waits_for_space_) return false;
    stall_ = error.within("transactions wait for the log");
    update_refusal();
  }
  say_stall();
  if (options_.checkpoint_bytes != 0) wish_checkpoint_again();
  answer_expired("space on the disk");
  static_cast<void>(work_.wait_for(ticket, kSpaceRetryNs));
  watch_.begins();  // it does not hang, but refuses
  return true;
}

// Who called and waits hears of it in no other way.
void CommandLog::say_stall() {
  constexpr uint64_t kPauseNs = 60'000'000'000;
  if (!stall_notice_) stall_notice_.emplace(kPauseNs);
  if (!stall_notice_->is_due(base::steady_ns())) return;
  base::notify("{} (they go on once there is space)", refusal()->message);
}

void CommandLog::wish_checkpoint_again() {
  const uint64_t now_ns = base::steady_ns();
  if (wished_ns_ != 0 && now_ns - wished_ns_ < kWishAgainNs) return;
  wished_ns_ = now_ns;
  checkpoint_is_due_();
}

void CommandLog::answer_expired(std::string_view awaited) {
  std::vector<oltp::Request*> expired;
  const uint64_t now_ns = base::steady_ns();
  const auto take_from = [&](std::vector<oltp::Request*>* requests) {
    const auto end = std::stable_partition(
        requests->begin(), requests->end(), [&](const oltp::Request* request) {
          return request->deadline_ns == 0 || request->deadline_ns > now_ns;
        });
    expired.insert(expired.end(), end, requests->end());
    requests->erase(end, requests->end());
  };
  {
    const std::lock_guard lock(mutex_);
    if (writes_) take_from(&writing_.requests);
    take_from(&filling_.requests);
  }
  for (oltp::Request* const request : expired) {
    if (!request->outcome.ok()) continue;
    request->outcome =
        base::Error(base::ErrorCode::kIo,
                    fmt::format("the call has run, but its time is over while the log waits for "
                                "{}; whether it is kept is not known",
                                awaited));
  }
  complete_(expired);
}

void CommandLog::fail(const base::Error& error) {
  if (failure_) return;
  failure_ = base::Error(
      base::ErrorCode::kIo,
      fmt::format("the log cannot be written, and transactions have ended until the database is "
                  "opened anew ({}); whether one that was under way is kept is not known",
                  error.to_string()));
  update_refusal();
}

// Without a lock: standard error may be a pipe that nobody reads.
void CommandLog::say_failure() {
  if (failure_told_) return;
  const base::Result<void> usable = check();
  if (usable) return;
  failure_told_ = true;
  base::notify("{}", usable.error().message);
}

void CommandLog::finish_group(const base::Result<void>& written) {
  bool checkpoint = false;
  {
    const std::lock_guard lock(mutex_);
    if (written) {
      // relaxed: raised under mutex_.
      const uint64_t durable = durable_vid_.load(std::memory_order_relaxed);
      // release: pairs with the acquire in wait_until_durable.
      durable_vid_.store(std::max(durable, writing_.last.value), std::memory_order_release);
    } else {
      fail(written.error());
    }
    writes_ = false;
    writing_bytes_ = 0;
    checkpoint = uncovered_.take_wish();
  }
  progress_.wake_all();
  if (!written) {
    say_failure();
    const base::Error error = *refusal();
    for (oltp::Request* const request : writing_.requests) {
      if (request->outcome.ok()) request->outcome = error;
    }
  }
  complete_(writing_.requests);
  writing_.clear();
  {
    const std::lock_guard lock(mutex_);
    writing_memory_bytes_ = writing_.memory_bytes();
  }
  if (checkpoint) checkpoint_is_due_();
}

}  // namespace diptych::dispatcher
