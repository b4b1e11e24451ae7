// Update records of a physical log that were changed are refused as kCorrupt, with words; or both
// replicas agree once they are replayed, and the engine runs transactions.
//
// Input: a byte that says whether lengths and VIDs are made such as check_records takes (bit 0),
// and whether all is one batch (bit 1); then changes, each of kChangeBytes, of the records of a few
// calls: which record, what is done to it, where in it, and four bytes more.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/alignment.h"
#include "base/check.h"
#include "dispatcher/replica_comparison.h"
#include "oltp/engine.h"
#include "propagation/applier.h"
#include "propagation/export/record_run.h"
#include "propagation/export/update_queue.h"
#include "storage/replica_files.h"
#include "storage/table.h"
#include "tests/fuzz/tiny_tables.h"

namespace diptych::fuzz {
namespace {

using propagation::UpdateRecord;

constexpr size_t kChangeBytes = 8;
constexpr size_t kChangesMax = 16;
constexpr int32_t kThings = 20;
constexpr int32_t kCallsBefore = 12;
constexpr int32_t kCallsReplayed = 6;
constexpr size_t kRecordsMax = 256;

struct Change {
  uint8_t record;
  uint8_t kind;
  uint16_t at;
  uint32_t value;
};
static_assert(sizeof(Change) == kChangeBytes);

// Of a batch, each by itself.
struct Record {
  uint32_t table = 0;
  std::vector<std::byte> bytes;  // as UpdateRecord has them
};
using Records = std::vector<Record>;

UpdateRecord head_of(const Record& record) {
  UpdateRecord head;
  std::memcpy(&head, record.bytes.data(), sizeof head);
  return head;
}
void put_head(const UpdateRecord& head, Record* record) {
  std::memcpy(record->bytes.data(), &head, sizeof head);
}

enum class Batches : uint8_t { kOne, kByVid };

// A batch's records, one run a table.
struct Batch {
  // And a table that is not there.
  explicit Batch(uint32_t tables) : words(tables + 1) {}

  void add(const Record& record) {
    std::vector<uint64_t>& run = words[record.table % words.size()];
    const size_t end = run.size();
    run.resize(end + base::round_up(record.bytes.size(), size_t{8}) / 8);
    std::memcpy(run.data() + end, record.bytes.data(), record.bytes.size());
  }
  propagation::BatchRuns runs() const {
    propagation::BatchRuns batch{last, {}};
    for (uint32_t table = 0; table < words.size(); ++table) {
      if (words[table].empty()) continue;
      batch.runs.push_back({base::TableId(table), std::as_bytes(std::span(words[table]))});
    }
    return batch;
  }

  std::vector<std::vector<uint64_t>> words;  // by table
  base::Vid last;
};

struct FillArguments {
  int32_t things = 0;
};

// Both replicas, without a database around them.
class Replicas {
 public:
  // `note`: gets what is exported.
  explicit Replicas(Records* note)
      : catalog_(tiny_catalog()),
        replica_(storage::StorageOptions{.partitions = 2, .block_rows = storage::kBlockRowsMin}),
        applier_(&replica_, base::NumaNode(0)) {
    for (const base::TableSchema& table : catalog_.tables()) replica_.add_table(table);
    applier_.add_tables(base::in_turn);
    oltp::EngineOptions options;
    options.placement.threads = 1;
    if (note != nullptr) {
      options.before_push = [note](std::span<const propagation::SealedSet> sets) {
        for (const propagation::SealedSet& set : sets) {
          set.updates->for_each([&](const UpdateRecord& record) {
            const auto* const begin = reinterpret_cast<const std::byte*>(&record);
            note->push_back({set.table.value, {begin, begin + record.bytes}});
          });
        }
      };
    }
    engine_ = std::make_unique<oltp::Engine>(&catalog_, options, &queue_);
    const auto things = oltp::bind_table<Thing>(catalog_, "thing");
    const auto writer = bind_writer(catalog_, kThings);
    DIPTYCH_CHECK(things.ok() && writer.ok(), "the tables are as the structs");
    fill_ = engine_->register_procedure(oltp::define_procedure<FillArguments, oltp::Nothing>(
        "fill",
        [table = *things](oltp::Transaction& txn,
                          const FillArguments& fill) -> base::Result<oltp::Nothing> {
          for (int32_t i = 0; i < fill.things; ++i) {
            const std::string text = text_of(i);
            if (auto row = txn.insert(table, thing_of(i, text)); !row) return row.error();
          }
          return oltp::Nothing{};
        }));
    write_ = engine_->register_procedure(
        oltp::define_procedure<WriteArguments, oltp::Nothing>("write", *writer));
  }

  base::Result<void> fill() {
    const FillArguments fill{kThings};
    return call(fill_, std::as_bytes(std::span(&fill, 1)));
  }
  base::Result<void> write(int32_t id) {
    const std::string text = text_of(id + 3);
    const WriteArguments write{id, base::Text(text)};
    return call(write_, std::as_bytes(std::span(&write, 1)));
  }
  // As one batch, or as one for each VID that follows another one.
  base::Result<void> replay(const Records& records, Batches batches, base::Vid last) {
    std::deque<Batch> parts;
    for (size_t i = 0; i < records.size(); ++i) {
      const base::Vid vid = head_of(records[i]).vid;
      if (parts.empty() || (batches == Batches::kByVid && vid != parts.back().last)) {
        parts.emplace_back(catalog_.table_count()).last = batches == Batches::kOne ? last : vid;
      }
      parts.back().add(records[i]);
    }
    base::Vid after = engine_->last_vid();
    std::vector<propagation::BatchRuns> runs;
    for (const Batch& part : parts) {
      runs.push_back(part.runs());
      for (const propagation::RecordRun& run : runs.back().runs) {
        auto checked = propagation::check_records(run.records, after, part.last);
        if (!checked) return checked;
      }
      after = part.last;
    }
    return runs.empty() ? base::Result<void>() : engine_->replay_updates(runs);
  }
  void release_free_slots() { engine_->release_free_slots(); }
  base::Vid last_vid() const { return engine_->last_vid(); }

  void check_agreement() {
    auto collected = queue_.collect();
    applier_.apply(collected, base::in_turn);
    queue_.recycle(std::move(collected.sets));
    const auto compared = dispatcher::compare_replicas(catalog_, *engine_, replica_, applier_);
    DIPTYCH_CHECK(compared.ok() && compared->differences == 0, "the replicas agree");
  }

 private:
  base::Result<void> call(base::ProcedureId procedure, std::span<const std::byte> arguments) {
    oltp::Request request;
    request.procedure = procedure;
    request.arguments = arguments;
    oltp::Request* place = &request;
    engine_->run_batch({&place, 1});
    return request.outcome;
  }

  const base::Catalog catalog_;
  propagation::UpdateQueue queue_;
  storage::Replica replica_;
  propagation::Applier applier_;
  std::unique_ptr<oltp::Engine> engine_;
  base::ProcedureId fill_;
  base::ProcedureId write_;
};

// What the calls have exported: those before, and the ones that are damaged and replayed.
struct Recorded {
  Records before;
  base::Vid before_last;
  Records replayed;
  base::Vid replayed_last;
};

Recorded record() {
  Recorded recorded;
  Records all;
  Replicas source(&all);
  DIPTYCH_CHECK(source.fill().ok(), "things can be inserted");
  for (int32_t id = 1; id <= kCallsBefore; ++id) {
    DIPTYCH_CHECK(source.write(id).ok(), "a call can be made");
  }
  recorded.before_last = source.last_vid();
  recorded.before = std::exchange(all, {});
  for (int32_t id = kCallsBefore + 1; id <= kCallsBefore + kCallsReplayed; ++id) {
    DIPTYCH_CHECK(source.write(id).ok(), "a call can be made");
  }
  recorded.replayed_last = source.last_vid();
  recorded.replayed = std::move(all);
  return recorded;
}

// At the ends of types, and of what a row's id may be.
constexpr std::array<uint64_t, 10> kOddNumbers = {
    0,          1,         255, 0xffff, 0x7fffffff, 0xffffffff, 1ULL << 36, (1ULL << 36) - 2,
    1ULL << 63, UINT64_MAX};

void apply(const Change& change, const Records& before, Records* records) {
  if (records->empty()) return;
  const size_t number = change.record % records->size();
  Record& record = (*records)[number];
  UpdateRecord head = head_of(record);
  const uint64_t odd = kOddNumbers[change.value % kOddNumbers.size()];
  switch (change.kind % 10) {
    case 0:
      head.row_id =
          base::RowId(change.at % 2 == 0 ? odd : head.row_id.value + change.value % 5 - 2);
      return put_head(head, &record);
    case 1:
      head.type = static_cast<propagation::UpdateType>(change.value % 5);
      return put_head(head, &record);
    case 2: head.more = static_cast<uint8_t>(change.value); return put_head(head, &record);
    case 3:
      head.column_count = static_cast<uint16_t>(change.value % 16);
      return put_head(head, &record);
    case 4:
      head.vid = base::Vid(head.vid.value + change.value % 5 - 2);
      return put_head(head, &record);
    case 5: record.table += 1 + change.value % 3; return;
    case 6: records->erase(records->begin() + static_cast<std::ptrdiff_t>(number)); return;
    case 7: {  // one more
      if (records->size() == kRecordsMax) return;
      const Record copy = change.at % 2 == 0 ? record : before[change.value % before.size()];
      records->insert(records->begin() + static_cast<std::ptrdiff_t>(number), copy);
      return;
    }
    case 8: {
      if (record.bytes.size() == sizeof head) return;
      const size_t at = sizeof head + change.at % (record.bytes.size() - sizeof head);
      const size_t count = std::min<size_t>(1 + (change.value >> 8) % 8, record.bytes.size() - at);
      std::memcpy(record.bytes.data() + at, &odd, count);
      return;
    }
    default: record.bytes[change.at % record.bytes.size()] = static_cast<std::byte>(change.value);
  }
}

// As check_records wants them: lengths that are the records', and VIDs of the batch, in order.
void mend(const Recorded& recorded, Records* records) {
  const uint64_t first = recorded.before_last.value + 1;
  for (Record& record : *records) {
    UpdateRecord head = head_of(record);
    head.bytes = static_cast<uint32_t>(record.bytes.size());
    head.vid = base::Vid(std::clamp(head.vid.value, first, recorded.replayed_last.value));
    put_head(head, &record);
  }
  std::stable_sort(records->begin(), records->end(), [](const Record& a, const Record& b) {
    return head_of(a).vid < head_of(b).vid;
  });
}

void check_replay(const Recorded& recorded, const Records& records, Batches batches) {
  Replicas replicas(nullptr);
  DIPTYCH_CHECK(replicas.replay(recorded.before, Batches::kByVid, recorded.before_last).ok(),
                "what was exported is replayed");
  const auto replayed = replicas.replay(records, batches, recorded.replayed_last);
  if (!replayed) {
    DIPTYCH_CHECK(replayed.code() == base::ErrorCode::kCorrupt, "damage is kCorrupt");
    DIPTYCH_CHECK(replayed.error().message.find(' ') != std::string::npos, "and has words");
    return;
  }
  replicas.release_free_slots();
  replicas.check_agreement();
  for (const int32_t id :
       {3, kCallsBefore + kCallsReplayed + 1, kCallsBefore + kCallsReplayed + 2}) {
    static_cast<void>(replicas.write(id));  // a letter with that id may be there
  }
  replicas.check_agreement();
}

}  // namespace
}  // namespace diptych::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace diptych::fuzz;  // NOLINT: one function
  static const Recorded recorded = record();
  if (size == 0) return 0;
  Records records = recorded.replayed;
  for (size_t at = 1, changes = 0; at + kChangeBytes <= size && changes < kChangesMax;
       at += kChangeBytes, ++changes) {
    Change change;
    std::memcpy(&change, data + at, sizeof change);
    apply(change, recorded.before, &records);
  }
  if ((data[0] & 1) != 0) mend(recorded, &records);
  check_replay(recorded, records, (data[0] & 2) != 0 ? Batches::kOne : Batches::kByVid);
  return 0;
}
