#include "olap/execution/scan/scan_pass.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <fmt/format.h>

#include "base/check.h"
#include "olap/execution/pipeline/plan_meter.h"
#include "olap/execution/scan/read_ahead.h"

namespace diptych::olap {

namespace {

// What the workers of a pass share.
struct Pass {
  Pass(std::span<PlanScan* const> all, const std::vector<ScanMorsel>& of_table, bool leaves_memory)
      : scans(all), morsels(of_table), ahead(of_table, leaves_memory) {
    std::map<std::string, size_t> by_key;
    for (const PlanScan* const scan : all) {
      ahead.add(scan->op, scan->needed);
      // One that looks at some rows only selects for nobody else.
      const std::string key = scan->roles.within != nullptr ? fmt::format("{}", predicates.size())
                                                            : predicates_key(scan->op);
      predicates.push_back(by_key.try_emplace(key, by_key.size()).first->second);
    }
  }

  void fail(size_t scan, std::exception_ptr why) {
    const std::lock_guard lock(failure_mutex);
    if (!scans[scan]->failure) scans[scan]->failure = std::move(why);
    // relaxed: only saves the others work.
    failed.fetch_or(uint64_t{1} << scan, std::memory_order_relaxed);
  }

  const std::span<PlanScan* const> scans;
  const std::vector<ScanMorsel>& morsels;
  ReadAhead ahead;
  std::vector<size_t> predicates;   // by scan; equal ones have one number, below scans.size()
  std::atomic<uint64_t> next{0};    // writer: workers, who claim morsels
  std::atomic<uint64_t> failed{0};  // bit s: scan s; writer: a worker in which it failed
  std::mutex failure_mutex;
};

class PassWorker {
 public:
  PassWorker(Pass* pass, uint32_t worker)
      : pass_(*pass), worker_(worker), sources_(pass->scans.size()), selected_(sources_.size()) {
    for (const PlanScan* const scan : pass->scans) reader_.add(scan->op.columns);
  }

  void run();

 private:
  void run_morsel(const ScanMorsel& morsel);
  // f(source) of each scan of `scans` that goes on, one by one; false: it wants no more rows.
  template <class F>
  void for_scans(uint64_t scans, const F& f);
  ScanSource& source(size_t scan);
  void end(size_t scan);

  Pass& pass_;
  const uint32_t worker_;
  LeafReader reader_;
  std::vector<std::unique_ptr<ScanSource>> sources_;  // by scan; made when first used
  std::vector<const Selection*> selected_;            // of the vector, by number of predicates
  uint64_t ended_ = 0;                                // bit s: scan s wants no more of this worker
};

template <class F>
void PassWorker::for_scans(uint64_t scans, const F& f) {
  for (uint64_t left = scans & ~ended_; left != 0; left &= left - 1) {
    const auto scan = static_cast<size_t>(std::countr_zero(left));
    PlanMeter* const meter = pass_.scans[scan]->context.meter;
    const Operator* const before =
        meter == nullptr ? nullptr : meter->switch_to(worker_, &pass_.scans[scan]->op);
    try {
      if (!f(scan)) end(scan);
    } catch (...) {
      end(scan);
      pass_.fail(scan, std::current_exception());
    }
    if (meter != nullptr) meter->switch_to(worker_, before);
  }
}

void PassWorker::end(size_t scan) {
  ended_ |= uint64_t{1} << scan;
  if (FoundRows* const found = pass_.scans[scan]->roles.found) found->cut_short();
}

ScanSource& PassWorker::source(size_t scan) {
  std::unique_ptr<ScanSource>& source = sources_[scan];
  if (source == nullptr) {
    const PlanScan& scanned = *pass_.scans[scan];
    source =
        std::make_unique<ScanSource>(scanned.context, scanned.op, scanned.needed, scanned.filters,
                                     scanned.roles, scanned.top, &reader_, scanned.sink(worker_));
    if (scanned.context.meter != nullptr) {
      PlanMeter::Cell& cell = scanned.context.meter->cell(worker_, scanned.op);
      source->count_decoded(&cell.decoded_bytes);
      source->count_filtered(&cell.filtered_rows);
      source->count_joinless(&cell.joinless_rows);
      source->count_worse(&cell.worse_rows);
    }
  }
  return *source;
}

void PassWorker::run() {
  const uint64_t all = ~uint64_t{0} >> (kScansMax - pass_.scans.size());
  while ((all & ~ended_) != 0) {
    // relaxed: morsels are independent, and what they read was written before the run.
    const uint64_t morsel = pass_.next.fetch_add(1, std::memory_order_relaxed);
    if (morsel >= pass_.morsels.size()) return;
    // relaxed: only saves work.
    ended_ |= pass_.failed.load(std::memory_order_relaxed);
    if ((pass_.morsels[morsel].scans & ~ended_) == 0) continue;
    reader_.begin(*pass_.morsels[morsel].leaf);
    pass_.ahead.reach(morsel);
    run_morsel(pass_.morsels[morsel]);
  }
}

void PassWorker::run_morsel(const ScanMorsel& morsel) {
  for_scans(morsel.scans, [&](size_t scan) {
    pass_.scans[scan]->context.stop->check();
    source(scan).start_morsel(*morsel.leaf);
    return true;
  });
  const storage::Leaf& leaf = *morsel.leaf;
  const uint32_t end = morsel.first + morsel.count;
  for (uint32_t first = morsel.first; first < end && (morsel.scans & ~ended_) != 0;
       first += kVectorRows) {
    reader_.start(first, std::min(kVectorRows, end - first));
    std::fill(selected_.begin(), selected_.end(), nullptr);
    for_scans(morsel.scans, [&](size_t scan) {
      ScanSource& source = *sources_[scan];
      const bool wants_more = source.run_vector(leaf, &selected_[pass_.predicates[scan]]);
      if (source.has_output()) pass_.ahead.note_output(scan);
      return wants_more;
    });
  }
  for_scans(morsel.scans, [&](size_t scan) { return sources_[scan]->end_morsel(); });
}

// Those first whose leaves may have the best rows, the others in their order.
void put_best_first(const TopBound& top, std::vector<ScanMorsel>* morsels) {
  std::vector<std::pair<uint64_t, ScanMorsel>> ranked;
  ranked.reserve(morsels->size());
  for (const ScanMorsel& morsel : *morsels) {
    const bool same_leaf = !ranked.empty() && ranked.back().second.leaf == morsel.leaf;
    ranked.emplace_back(same_leaf ? ranked.back().first : top.rank(*morsel.leaf), morsel);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::transform(ranked.begin(), ranked.end(), morsels->begin(),
                 [](const auto& one) { return one.second; });
}

}  // namespace

void run_pass(std::span<PlanScan* const> scans) {
  DIPTYCH_CHECK(!scans.empty() && scans.size() <= kScansMax, "a morsel has a bit for each scan");
  const RunContext& context = scans[0]->context;
  std::vector<LeafFilter> filters;
  for (const PlanScan* const scan : scans) filters.emplace_back(scan->op, scan->filters);
  std::vector<ScanLeaves> leaves;
  std::vector<ScanMorsel> morsels =
      scan_morsels(filters, context.replica->table(scans[0]->op.table), &leaves);
  if (scans.size() == 1 && scans[0]->top != nullptr) put_best_first(*scans[0]->top, &morsels);
  for (size_t s = 0; s < scans.size(); ++s) {
    scans[s]->leaves = leaves[s];
    scans[s]->scans = scans.size();
  }
  Pass pass(scans, morsels, context.replica->leaves_memory());
  const uint64_t workers = std::min<uint64_t>(context.arena->threads(), morsels.size());
  context.arena->run(static_cast<uint32_t>(workers),
                     [&](uint32_t worker) { PassWorker(&pass, worker).run(); });
}

}  // namespace diptych::olap
