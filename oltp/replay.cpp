// Replay: calls that committed once, run again so that every row, RowID and VID is as it was.

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "oltp/engine.h"
#include "oltp/engine_state.h"
#include "oltp/runs_procedures.h"

namespace diptych::oltp {
namespace {

base::Error differs(const std::string& procedure, base::Vid commit_vid, std::string_view how) {
  return {base::ErrorCode::kCorrupt,
          fmt::format("procedure \"{}\", which committed VID {}, {}: it is not the one that was "
                      "logged, or not deterministic",
                      procedure, commit_vid.value, how)};
}

// By request, the oldest VID that one behind it reads: transactions that ran side by side then run
// one after the other, and the last of them may have begun before the others ended.
std::vector<base::Vid> oldest_reads_behind(std::span<Request* const> requests) {
  std::vector<base::Vid> oldest(requests.size(), base::Vid(UINT64_MAX));
  for (size_t i = requests.size(); i > 1; --i) {
    oldest[i - 2] = std::min(oldest[i - 1], requests[i - 1]->read_vid);
  }
  return oldest;
}

// A variable has another value while this lives, also where what it is for throws.
template <class Value>
class SetMeanwhile {
 public:
  SetMeanwhile(Value* variable, Value value)
      : variable_(variable), before_(std::exchange(*variable, value)) {}
  ~SetMeanwhile() { *variable_ = before_; }
  SetMeanwhile(const SetMeanwhile&) = delete;
  SetMeanwhile& operator=(const SetMeanwhile&) = delete;

 private:
  Value* variable_;
  Value before_;
};

}  // namespace

std::optional<base::RowId> Worker::take_replayed_slot(Table* table) {
  if (replayed_rows_.empty()) return std::nullopt;
  const base::RowId row_id = replayed_rows_.front();
  replayed_rows_ = replayed_rows_.subspan(1);
  if (row_id.value >= RowTable::kSlotsMax) return std::nullopt;
  tables_.touch(*table);
  table->rows.cover_one(row_id);
  // relaxed: the leader alone runs.
  if (table->rows.slot(row_id).word.load(std::memory_order_relaxed) != 0) return std::nullopt;
  return row_id;
}

base::Result<void> Worker::replay_one(Request* request, std::span<const base::RowId> inserted,
                                      PlannedRows planned) {
  const ProcedureDefinition& procedure = core_->procedure(request->procedure);
  const base::Vid as_logged = request->commit_vid;
  // relaxed: the leader alone runs.
  const uint64_t last = core_->last_vid.load(std::memory_order_relaxed);
  if (as_logged.value != last + 1 || request->read_vid.value > last) {
    return differs(procedure.name, as_logged,
                   fmt::format("read VID {} and follows VID {}", request->read_vid.value, last));
  }
  running_ = &procedure;
  replayed_rows_ = inserted;
  // What a serializable transaction read has held: its snapshot is the same now.
  reads_.begin(false);
  stamp_ += core_->options.placement.threads;
  if (stamp_ == 0) stamp_ += core_->options.placement.threads;  // no handle's
  // As many operations as it takes: the limit may have been another, and a scan may meet rows here
  // that came after it then.
  Transaction txn(this, request->read_vid, request->now, request->random_seed, UINT64_MAX, stamp_,
                  planned);
  base::Result<void> result = call_body(procedure, txn, request);
  if (txn.failed()) result = *txn.failure_;  // whatever the procedure makes of it
  if (!result) {
    roll_back();
    return differs(procedure.name, as_logged,
                   fmt::format("fails now ({})", result.error().to_string()));
  }
  const bool committed = commit(&txn, request);
  DIPTYCH_CHECK(committed, "no reads were noted that could fail to hold");
  if (request->commit_vid != as_logged) {
    return differs(procedure.name, as_logged, "changes nothing now");
  }
  if (!replayed_rows_.empty()) {
    return differs(procedure.name, as_logged,
                   fmt::format("inserts {} rows less now", replayed_rows_.size()));
  }
  return {};
}

base::Result<void> Worker::replay(std::span<Request* const> requests, InsertedOfRequests inserted) {
  const RunsProcedures marked;
  for (size_t i = 0; i < kPlansAhead; ++i) plan_access(requests, i, nullptr);
  for (size_t i = 0; i < kRowsAhead; ++i) plan_of(i)->fetch_rows();
  const SetMeanwhile replays(&replays_, true);
  const std::vector<base::Vid> oldest_reads = oldest_reads_behind(requests);
  base::Result<void> replayed;
  for (size_t i = 0; i < requests.size() && replayed; ++i) {
    plan_of(i + kRowsAhead)->fetch_rows();
    replayed = replay_one(requests[i], inserted[i], plan_of(i)->rows());
    drop_many_dead_entries(oldest_reads[i]);
    plan_access(requests, i + kPlansAhead, nullptr);
  }
  return replayed;
}

base::Result<void> Engine::replay_batch(std::span<Request* const> requests,
                                        InsertedOfRequests inserted) {
  DIPTYCH_CHECK(requests.size() == inserted.size(), "each request has its slots");
  EngineCore& core = state_->core;
  // relaxed: between batches nobody else runs.
  const uint64_t begin = core.last_vid.load(std::memory_order_relaxed);
  for (const Request* const request : requests) {
    // Versions go at a batch's end.
    if (request->read_vid.value >= begin) continue;
    return base::Error(base::ErrorCode::kCorrupt,
                       fmt::format("the call that committed VID {} read VID {}, before its batch, "
                                   "which follows VID {}",
                                   request->commit_vid.value, request->read_vid.value, begin));
  }
  // A snapshot older than the newest commit takes versions, which one worker alone does not keep.
  const bool newest = std::all_of(requests.begin(), requests.end(), [](const Request* request) {
    return request->read_vid.value + 1 == request->commit_vid.value;
  });
  const SetMeanwhile concurrency(&core.concurrency,
                                 newest ? Concurrency::kSingle : Concurrency::kShared);
  base::Result<void> replayed = state_->leader().replay(requests, inserted);
  state_->reach_boundary();
  return replayed;
}

std::span<const base::RowId> Engine::inserted_rows(const Request& request) const {
  return state_->workers[request.inserted.worker.value]->inserted_rows(request.inserted);
}

}  // namespace diptych::oltp
