#include "oltp/worker.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/thrown_text.h"
#include "oltp/reply_texts.h"
#include "oltp/runs_procedures.h"

namespace diptych::oltp {
namespace {

// A conflict's winner is usually done by the end of the share; who still conflicts after this many
// further rounds waits for the next batch.
constexpr int kRetryRounds = 3;

// Of what is left of a share, the procedure that was cut short comes last (BatchOrder, O2).
void let_others_go_first(std::vector<Request*>* left) {
  const auto is_other = [&](const Request* request) {
    return request->procedure != left->front()->procedure;
  };
  std::rotate(left->begin(), std::find_if(left->begin(), left->end(), is_other), left->end());
}

// `text`: null where it is no std::exception. Where there is no memory for the text, that is the
// error: nothing may leave the catch block.
base::Error thrown_error(const ProcedureDefinition& procedure, const char* text) noexcept try {
  return {base::ErrorCode::kAborted,
          text == nullptr
              ? fmt::format("procedure \"{}\" threw something that is no std::exception",
                            procedure.name)
              : fmt::format("procedure \"{}\" threw: {}", procedure.name, text)};
} catch (const std::bad_alloc&) {
  return base::ErrorCode::kOutOfMemory;
}

// An expected outcome has no text; who called should still read where it came from, where there is
// memory to say it. `asked` is the index that had the key, or had no row with it; null if unknown.
base::Error for_the_caller(const ProcedureDefinition& procedure, const base::Error& error,
                           const TableIndex* asked, bool lost, bool may_grow) noexcept try {
  if (lost) {
    return base::Error(
        base::ErrorCode::kConflict,
        fmt::format("procedure \"{}\" lost against others in every run", procedure.name));
  }
  if (!error.message.empty()) return error;
  if (error.code == base::ErrorCode::kOutOfMemory && !may_grow) {
    return base::Error(error.code,
                       fmt::format("in procedure \"{}\": {}, and needs more; rows of the table "
                                   "that are erased make room",
                                   procedure.name, kNoRoom));
  }
  if (asked != nullptr) {
    return error.within(
        fmt::format("in procedure \"{}\": table \"{}\" has {} row with the key in index \"{}\"",
                    procedure.name, asked->table->schema->name,
                    error.code == base::ErrorCode::kNotFound ? "no" : "a", asked->schema.name));
  }
  return error.within(fmt::format("in procedure \"{}\"", procedure.name));
} catch (const std::bad_alloc&) {
  return error.code;
}

}  // namespace

base::Result<void> call_body(const ProcedureDefinition& procedure, Transaction& txn,
                             Request* request) {
  try {
    auto result = procedure.body(txn, request->arguments, request->reply);
    if (!procedure.reply_texts.empty() && result && !request->reply.empty()) [[unlikely]] {
      result = keep_reply_texts(procedure, request, __builtin_frame_address(0));
    }
    return result;
  } catch (const std::exception& thrown) {
    return thrown_error(procedure, base::thrown_text(thrown));
  } catch (...) {
    return thrown_error(procedure, nullptr);
  }
}

Worker::Worker(EngineCore* core, base::WorkerId id)
    : core_(core),
      id_(id),
      strings_(&core->strings),
      undo_(core->options.placement.node),
      stamp_(core->first_stamp + static_cast<uint32_t>(id.value)) {
  plans_.assign(kPlansAhead, AccessPlan(core));
}

void Worker::add_table() {
  tables_.resize(core_->tables.size());
}

void Worker::change_indexes() {
  shapes_.clear();
}

void Worker::retire_strings(const Table& table, const std::byte* row) {
  for (const base::ColumnId id : table.layout.long_strings) {
    base::Text text;
    std::memcpy(&text, row + table.layout.column(id).offset, sizeof text);
    strings_.retire(text);
  }
}

void Worker::forget_table(base::TableId table) {
  DIPTYCH_CHECK(writes_.empty() && dead_.count() == 0, "no transaction runs between batches");
  shapes_.clear();
  tables_.forget(table);
}

template <class Run>
void Worker::run_timed(base::ProcedureId procedure, uint64_t* now_ns, const Run& run) {
  const uint64_t begin_ns = *now_ns;
  mark_.begin(procedure, begin_ns);
  run();
  *now_ns = base::steady_ns();
  const uint64_t spent_ns = *now_ns - begin_ns;
  if (spent_ns > core_->options.slow_run_ns) [[unlikely]] {
    report_.slow.push_back({procedure, spent_ns});
  }
}

std::optional<uint64_t> Worker::partition_of(const Request& request, uint64_t* now_ns) {
  const ProcedureDefinition& procedure = core_->procedure(request.procedure);
  std::optional<uint64_t> partition;
  if (!procedure.partition) return partition;
  run_timed(request.procedure, now_ns, [&] {
    try {
      partition = procedure.partition(request.arguments);
    } catch (...) {  // it only makes things faster
    }
  });
  return partition;
}

void Worker::plan_access(Share requests, size_t position, uint64_t* now_ns) {
  AccessPlan* const plan = plan_of(position);
  plan->clear();
  if (position >= requests.size()) return;
  const Request& request = *requests[position];
  const ProcedureDefinition& procedure = core_->procedure(request.procedure);
  if (!procedure.access) return;
  DIPTYCH_DCHECK(request.arguments.size() == procedure.argument_bytes,
                 "who submits checks that the buffers fit");
  const auto make_plan = [&] {
    try {
      procedure.access(request.arguments, *plan);
    } catch (...) {
      plan->clear();  // it only makes things faster
    }
  };
  now_ns == nullptr ? make_plan() : run_timed(request.procedure, now_ns, make_plan);
}

void Worker::run_share(Share requests, uint64_t deadline_ns) {
  const RunsProcedures marked;
  inserted_rows_.clear();
  uint64_t now_ns = base::steady_ns();
  for (size_t i = 0; i < kPlansAhead; ++i) plan_access(requests, i, &now_ns);
  for (size_t i = 0; i < kRowsAhead; ++i) plan_of(i)->fetch_rows();
  size_t next = 0;
  // The first one runs however late it is: every batch gets on.
  for (; next < requests.size(); ++next) {
    if (next != 0 && (now_ns >= deadline_ns || core_->is_lost())) break;
    plan_of(next + kRowsAhead)->fetch_rows();
    run_or_defer(requests[next], plan_of(next)->rows(), &now_ns);
    plan_access(requests, next + kPlansAhead, &now_ns);
  }
  retry_deferred(deadline_ns);
  mark_.end();
  // release: who meets it drops entries only after this worker's last read.
  core_->read_marks[id_.value].vid.store(ReadMark::kNone, std::memory_order_release);
  std::swap(report_.conflicted, deferred_);
  deferred_.clear();
  report_.unrun.assign(requests.begin() + static_cast<std::ptrdiff_t>(next), requests.end());
  let_others_go_first(&report_.unrun);
}

void Worker::retry_deferred(uint64_t deadline_ns) {
  std::vector<Request*> round;
  uint64_t now_ns = base::steady_ns();
  for (int i = 0; i < kRetryRounds && !deferred_.empty(); ++i) {
    if (now_ns >= deadline_ns || core_->is_lost()) break;
    // The winner may not be running, with more workers than cores.
    std::this_thread::yield();
    now_ns = base::steady_ns();  // what passed meanwhile is nobody's run
    round.clear();
    std::swap(round, deferred_);
    for (Request* const request : round) run_or_defer(request, {}, &now_ns);
  }
}

void Worker::run_or_defer(Request* request, PlannedRows planned, uint64_t* now_ns) {
  run_timed(request->procedure, now_ns, [&] {
    if (run(request, planned) == RunEnd::kConflict) deferred_.push_back(request);
  });
  if (drop_many_dead_entries()) *now_ns = base::steady_ns();  // no run's
}

base::Vid Worker::begin_snapshot() {
  // acquire: pairs with the release in commit (C1).
  if (is_single()) return base::Vid(core_->last_vid.load(std::memory_order_acquire));
  std::atomic<uint64_t>& mark = core_->read_marks[id_.value].vid;
  // relaxed: the mark may be older than what is read.
  // seq_cst: either who asks for the oldest_read() meets the mark, or the load below what it met.
  mark.store(core_->last_vid.load(std::memory_order_relaxed), std::memory_order_seq_cst);
  // seq_cst: as above. Also pairs with the release in commit (C1).
  return base::Vid(core_->last_vid.load(std::memory_order_seq_cst));
}

Worker::RunEnd Worker::run(Request* request, PlannedRows planned) {
  const ProcedureDefinition& procedure = core_->procedure(request->procedure);
  const base::Vid read_vid = begin_snapshot();
  request->read_vid = read_vid;
  const IsolationLevel level = procedure.isolation.value_or(core_->options.isolation);
  const size_t inserted_before = inserted_rows_.size();
  reads_.begin(level == IsolationLevel::kSerializable && !is_single());
  request->commit_vid = base::Vid();
  request->outcome = {};
  DIPTYCH_DCHECK(request->arguments.size() == procedure.argument_bytes,
                 "who submits checks that the buffers fit");
  running_ = &procedure;
  stamp_ += core_->options.placement.threads;
  if (stamp_ == 0) stamp_ += core_->options.placement.threads;  // no handle's
  Transaction txn(this, read_vid, request->now, request->random_seed, core_->options.operations_max,
                  stamp_, planned);
  base::Result<void> result = call_body(procedure, txn, request);
  bool lost = txn.failed();
  if (lost) result = *txn.failure_;  // whatever the procedure makes of it
  if (result && !commit(&txn, request)) {
    lost = true;
    result = base::ErrorCode::kConflict;
  }
  if (result) {
    const auto first = static_cast<uint32_t>(inserted_before);
    request->inserted = {id_, first, static_cast<uint32_t>(inserted_rows_.size()) - first};
    ++report_.committed;
    return RunEnd::kEnded;
  }
  inserted_rows_.resize(inserted_before);
  roll_back();
  // One that the procedure makes itself is how it aborts.
  lost = lost && result.code() == base::ErrorCode::kConflict;
  if (lost && !give_up(request)) return RunEnd::kConflict;
  request->outcome = for_the_caller(procedure, result.error(), txn.asked_index(result.code()), lost,
                                    core_->may_grow());
  ++report_.aborted;
  return RunEnd::kEnded;
}

bool Worker::give_up(Request* request) {
  if (request->conflicts >= core_->options.conflicts_max) return true;
  ++request->conflicts;
  ++report_.conflicts;
  return false;
}

void Worker::take_updates(std::vector<propagation::SealedSet>* sets) {
  for (const base::TableId table : tables_.touched()) {
    std::unique_ptr<propagation::UpdateSet>& updates = tables_[table].updates;
    if (updates == nullptr || updates->empty()) continue;
    sets->push_back({id_, table, std::move(updates)});
  }
}

void Worker::forget_rolled_back_owners() {
  for (const RolledBackRow& row : rolled_back_) {
    row.slot->group(row.undo->group).forget_owner(row.undo);
  }
  rolled_back_.clear();
}

bool Worker::drop_many_dead_entries(std::optional<base::Vid> oldest_read) {
  if (!dead_.are_many()) return false;
  if (is_single()) {
    dead_.drop();
  } else {
    dead_.drop_unneeded(oldest_read ? *oldest_read : core_->oldest_read(id_), id_, &undo_);
  }
  return true;
}

void Worker::drop_dead_entries() {
  dead_.drop();
}

void Worker::forget_free_slots() {
  for (WorkerTables::State& state : tables_.all()) state.slots.forget();
}

void Worker::forget_rows() {
  DIPTYCH_CHECK(writes_.empty(), "no transaction runs between batches");
  strings_ = StringMemory(&core_->strings);
  undo_.reset();
  tables_.clear();
  shapes_.clear();
  inserted_rows_.clear();
  dead_.clear();
  rolled_back_.clear();
  report_ = WorkerReport();
}

void Worker::bury_dead_rows() {
  dead_.bury_rows([this](const Table& table, RowSlot& slot, base::RowId row_id) {
    slot.set_words(table.layout.group_count, 0);
    tables_.touch(table).slots.retire(row_id);
  });
}

void Worker::finish_batch() {
  bury_dead_rows();
  undo_.reset();
  core_->strings.note_freed(strings_.reclaim());
  if (!is_single()) strings_.balance();
  for (const base::TableId id : tables_.touched()) {
    Table& table = core_->table(id);
    WorkerTables::State& state = tables_[id];
    state.slots.reclaim(&table.rows, core_->may_grow());
    table.row_count += static_cast<uint64_t>(std::exchange(state.row_count_change, 0));
  }
}

}  // namespace diptych::oltp
