#include "tests/dispatcher/any_schema_options.h"

#include <algorithm>
#include <iterator>

namespace diptych::dispatcher::any_schema {
namespace {

constexpr uint32_t kBlockRows = 1024;
constexpr uint32_t kPartitionsMax = 4;

struct NamedCount {
  const char* name;
  uint64_t Met::*count;
};
constexpr NamedCount kCounts[] = {
    {"blocks made", &Met::blocks_made},
    {"blocks melted", &Met::blocks_melted},
    {"blocks rewritten", &Met::blocks_rewritten},
    {"columns thawed", &Met::columns_thawed},
    {"columns frozen again", &Met::columns_frozen},
    {"columns settled", &Met::columns_settled},
    {"chunks evicted", &Met::chunks_evicted},
    {"chunks read", &Met::chunks_read},
    {"changed chunks written to be evicted", &Met::chunks_written},
    {"checkpoints that nobody asked for", &Met::background_checkpoints},
    {"blocks in several partitions", &Met::partitions_with_blocks},
    {"a log replayed onto blocks", &Met::blocks_replayed_to},
    {"commits lost that were not logged", &Met::commits_lost},
    {"DDL lost that was not logged", &Met::ddl_lost},
};

// Each of a large table is to have a block's rows.
uint32_t some_partitions(const Traits& traits, const Below& below) {
  if (traits.large) return below(4) == 0 ? 1 : 2;
  return 1 + static_cast<uint32_t>(below(kPartitionsMax));
}

}  // namespace

RandomOptions::RandomOptions(const Traits& traits, std::string path, const Below& below)
    : traits_(traits),
      path_(std::move(path)),
      below_(below),
      partitions_(some_partitions(traits, below)) {}

DatabaseOptions RandomOptions::at_first() const {
  DatabaseOptions options;
  if (!traits_.in_memory) options.path = path_;
  options.block_rows = kBlockRows;
  options.partitions = partitions_;
  return options;
}

DatabaseOptions RandomOptions::draw() {
  static constexpr uint32_t kWorkers[] = {1, 1, 2, 3, 4, 8};
  static constexpr uint32_t kConflicts[] = {1'000'000, 1'000'000, 0, 1, 5};
  DatabaseOptions options = at_first();
  options.settled = settled_.draw(below_);
  options.random_seed = 1 + below_(UINT64_MAX);
  options.placement.oltp_workers = kWorkers[below_(std::size(kWorkers))];
  options.isolation = below_(2) == 0 ? IsolationLevel::kSnapshot : IsolationLevel::kSerializable;
  options.conflicts_max = kConflicts[below_(std::size(kConflicts))];
  if (below_(3) == 0) options.push_limit_ns = 1 + below_(50'000);
  if (below_(3) == 0) options.batch_requests_max = 1 + static_cast<uint32_t>(below_(20));
  if (below_(3) == 0) options.apply_interval_ns = 100'000;
  if (traits_.in_memory) return options;
  options.log = logs_.draw(below_);
  options.olap_memory_bytes_max = memories_.draw(below_);
  options.checkpoint_log_bytes = checkpoint_bytes_.draw(below_);
  if (below_(2) == 0) options.log_file_bytes = 16 << 10;
  // Else a crash loses nobody knows how many.
  if (options.log != LogMode::kNone && below_(3) == 0) options.checkpoint_interval_ns = 5'000'000;
  return options;
}

void Met::add(const Met& other) {
  for (const NamedCount& each : kCounts) this->*each.count += other.*each.count;
}

void Met::add(const Metrics& life, uint32_t partitions, uint64_t asked) {
  const storage::PartitionFigures& figures = life.memory.replica;
  blocks_made += figures.blocks_made;
  blocks_melted += figures.blocks_melted;
  blocks_rewritten += figures.blocks_rewritten;
  columns_thawed += figures.columns_thawed;
  columns_frozen += figures.columns_frozen;
  columns_settled += figures.columns_settled;
  chunks_evicted += life.olap_chunks.evictions;
  chunks_read += life.olap_chunks.loads;
  chunks_written += life.olap_chunks.writes;
  const uint64_t checkpoints = life.checkpoint_ns.count();
  background_checkpoints += checkpoints - std::min(checkpoints, asked);
  const bool has_blocks = figures.block_bytes != 0;
  if (has_blocks && partitions > 1) ++partitions_with_blocks;
  if (has_blocks && life.recovered_transactions != 0) ++blocks_replayed_to;
}

std::vector<std::string> Met::missing() const {
  std::vector<std::string> names;
  for (const NamedCount& each : kCounts) {
    if (this->*each.count == 0) names.emplace_back(each.name);
  }
  return names;
}

}  // namespace diptych::dispatcher::any_schema
