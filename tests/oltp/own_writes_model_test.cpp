// Random procedures that meet their own writes, on 1 to 4 workers: each operation of every run is
// compared with the model's state at the run's snapshot and what the run itself has done before it.
//
// Rows come, go and come again under the same keys within a transaction, with and without column
// groups; indexes are hash or ordered ones.

#include <optional>
#include <random>
#include <set>

#include "tests/oltp/engine_fixture.h"
#include "tests/oltp/things.h"
#include "tests/sanitizers.h"

namespace diptych::oltp::test {
namespace {

using base::ErrorCode;
using base::Result;
using diptych::test::kSanitized;

using Check = std::function<void(Shadow&)>;

struct Run {
  uint64_t read_vid = 0;
  std::vector<Check> checks;
};

class Shop {
 public:
  Shop(uint32_t workers, uint64_t seed)
      : seed_(seed), catalog_(make_catalog(seed)), replica_(&catalog_) {
    EngineOptions options;
    options.placement.threads = workers;
    options.batch_time_max_ns = 60'000'000'000;
    options.conflicts_max = 1'000'000;
    if (is_serializable(seed)) options.isolation = IsolationLevel::kSerializable;
    options.note_inserted_rows = true;
    engine_ = std::make_unique<Engine>(&catalog_, options, &queue_);
    thing_ = *bind_table<Thing>(catalog_, "thing");
    by_id_ = *bind_index<&Thing::id>(catalog_, "thing_pkey");
    by_code_ = *bind_index<&Thing::code>(catalog_, "thing_code");
    by_label_ = *bind_index<&Thing::label>(catalog_, "thing_label");
    by_grade_ = *bind_index<&Thing::grade, &Thing::tag>(catalog_, "thing_grade");
    by_tag_ = *bind_index<&Thing::tag>(catalog_, "thing_tag");
    script_ = engine_->register_procedure(define_procedure<Script, Nothing>(
        "script", [this](Transaction& txn, const Script& args) -> Result<Nothing> {
          Run& run = runs_[args.call].emplace_back();
          run.read_vid = txn.read_vid().value;
          if (auto done = act(txn, &run); !done) return done.error();
          return Nothing{};
        }));
  }

  void run_batch(size_t count) {
    runs_.assign(count, {});
    std::vector<Script> scripts(count);
    std::vector<Request> requests(count);
    std::vector<Request*> wanted;
    for (size_t i = 0; i < count; ++i) {
      scripts[i].call = i;
      requests[i].procedure = script_;
      requests[i].arguments = std::as_bytes(std::span(&scripts[i], 1));
      requests[i].random_seed = random_();
      wanted.push_back(&requests[i]);
    }
    while (!wanted.empty()) wanted = engine_->run_batch(wanted).again;
    replica_.apply(&queue_);
    judge(requests);
  }

  void expect_agreement() {
    engine_->check_indexes();
    Things there;
    TableText text;
    const base::RowLayout layout(catalog_.table(thing_.table));
    engine_->for_each_row(thing_.table, [&](base::RowId row_id, const std::byte* bytes) {
      const ThingModel row = model_of(*reinterpret_cast<const Thing*>(bytes));
      EXPECT_TRUE(there.emplace(row.id, row).second);
      text[row_id.value] = text_of(layout, bytes);
    });
    EXPECT_EQ(there.size(), engine_->row_count(thing_.table));
    EXPECT_TRUE(there == latest_);
    EXPECT_EQ(replica_.table(thing_.table.value), text);
    EXPECT_EQ(replica_.snapshot(), engine_->last_vid());
  }
  uint64_t committed() const { return committed_; }

 private:
  struct Script {
    uint64_t call = 0;
  };

  static base::Catalog make_catalog(uint64_t seed) {
    using base::IndexKind;
    using base::Uniqueness;
    base::Catalog catalog;
    base::TableSchema thing = schema_of<Thing>("thing");
    const auto kind = [&](uint64_t bit) {
      return (seed >> bit & 1) == 0 ? IndexKind::kHash : IndexKind::kOrdered;
    };
    thing.indexes = {
        index("thing_pkey", kind(0), Uniqueness::kUnique, {0}),
        index("thing_code", kind(1), Uniqueness::kUnique, {1}),
        index("thing_label", kind(2), Uniqueness::kUnique, {2}),
        index("thing_grade", IndexKind::kOrdered, Uniqueness::kNonUnique, {3, 4}),
        index("thing_tag", kind(3), Uniqueness::kNonUnique, {4}),
    };
    if (is_grouped(seed)) {
      thing.column_groups = {{base::ColumnId(5), base::ColumnId(6)}, {base::ColumnId(7)}};
    }
    const auto added = catalog.add_table(std::move(thing));
    EXPECT_TRUE(added) << added.error().to_string();
    return catalog;
  }
  static bool is_serializable(uint64_t seed) { return seed % 3 == 0; }
  static bool is_grouped(uint64_t seed) { return seed / 3 % 2 == 0; }

  Result<void> act(Transaction& txn, Run* run) const {
    for (uint64_t step = 1 + below(txn, 9); step != 0; --step) {
      if (auto done = act_once(txn, run); !done) return done;
    }
    if (below(txn, 6) == 0) return txn.abort("one in six");
    return {};
  }
  Result<void> act_once(Transaction& txn, Run* run) const {
    switch (below(txn, 11)) {
      case 0:
      case 1: return insert(txn, run, some_id(txn));
      case 2: return look_up(txn, run);
      case 3:
      case 4: return change(txn, run);
      case 5: return erase(txn, run, some_id(txn));
      case 6: {
        const int64_t id = some_id(txn);
        if (auto done = erase(txn, run, id); !done) return done;
        return insert(txn, run, id);
      }
      case 7: return scan_grades(txn, run);
      case 8: return scan_tag(txn, run);
      case 9: return scan_and_write(txn, run);
      default: return look_up_each(txn, run);
    }
  }

  Result<void> insert(Transaction& txn, Run* run, int64_t id) const {
    const ThingModel wanted = some_thing(txn, id);
    auto inserted = txn.insert(thing_, row_of(wanted));
    if (!inserted && inserted.code() == ErrorCode::kConflict) return inserted.error();
    EXPECT_TRUE(inserted || inserted.code() == ErrorCode::kAlreadyExists)
        << inserted.error().to_string();
    run->checks.push_back([wanted, ok = inserted.ok()](Shadow& shadow) {
      const bool taken =
          shadow.now.contains(wanted.id) || shadow.has_other(wanted.id, [&](const ThingModel& row) {
            return row.code == wanted.code || row.label == wanted.label;
          });
      EXPECT_EQ(ok, !taken) << "insert of " << wanted.id;
      if (!ok) return;
      shadow.now[wanted.id] = wanted;
      shadow.written[wanted.id] |= kRow;
    });
    if (inserted && below(txn, 3) == 0) {
      auto claimed = txn.claim<Thing>(*inserted);
      if (!claimed) return claimed.error();
      const ThingModel seen = model_of(claimed->values);
      EXPECT_TRUE(seen == wanted);
      return update(txn, run, *claimed, seen);
    }
    return {};
  }

  void expect_found(Run* run, const char* by, std::function<bool(const ThingModel&)> is_it,
                    const Result<Thing>& found) const {
    std::optional<ThingModel> seen;
    if (found) seen = model_of(*found);
    run->checks.push_back([by, is_it, seen](Shadow& shadow) {
      std::optional<ThingModel> expected;
      for (const auto& [id, row] : shadow.now) {
        if (is_it(row)) expected = row;
      }
      EXPECT_EQ(seen.has_value(), expected.has_value()) << by;
      EXPECT_TRUE(seen == expected) << by;
    });
  }
  Result<void> look_up(Transaction& txn, Run* run) const {
    const int64_t id = some_id(txn);
    auto found = txn.get(by_id_, id);
    if (!found && found.code() != ErrorCode::kNotFound) return found.error();
    expect_found(
        run, "id", [id](const ThingModel& row) { return row.id == id; }, found);
    const int32_t code = some_code(txn);
    found = txn.get(by_code_, code);
    if (!found && found.code() != ErrorCode::kNotFound) return found.error();
    expect_found(
        run, "code", [code](const ThingModel& row) { return row.code == code; }, found);
    const std::string label = some_label(txn);
    found = txn.get(by_label_, std::string_view(label));
    if (!found && found.code() != ErrorCode::kNotFound) return found.error();
    expect_found(
        run, "label", [label](const ThingModel& row) { return row.label == label; }, found);
    // Of some columns, of one group each.
    auto part = txn.get<&Thing::extra>(by_id_, id);
    if (!part && part.code() != ErrorCode::kNotFound) return part.error();
    std::optional<std::optional<int64_t>> seen;
    if (part) seen = number_or_null(*part);
    run->checks.push_back([id, seen](Shadow& shadow) {
      const auto row = shadow.now.find(id);
      EXPECT_EQ(seen.has_value(), row != shadow.now.end());
      if (seen && row != shadow.now.end()) {
        EXPECT_EQ(*seen, row->second.extra);
      }
    });
    return {};
  }

  Result<void> look_up_each(Transaction& txn, Run* run) const {
    std::vector<std::tuple<int64_t>> keys;
    for (uint64_t n = below(txn, 40); n != 0; --n) keys.emplace_back(some_id(txn));
    std::map<size_t, std::optional<std::string>> seen;
    auto done =
        txn.get_each<&Thing::memo>(by_id_, keys, [&](size_t i, const Nullable<base::Text>& memo) {
          seen[i] = text_or_null<base::Text, std::string>(memo);
        });
    if (!done) return done;
    run->checks.push_back([keys, seen](Shadow& shadow) {
      for (size_t i = 0; i < keys.size(); ++i) {
        const auto row = shadow.now.find(std::get<0>(keys[i]));
        ASSERT_EQ(seen.contains(i), row != shadow.now.end());
        if (row != shadow.now.end()) {
          ASSERT_EQ(seen.at(i), row->second.memo);
        }
      }
    });
    return {};
  }

  Result<void> erase(Transaction& txn, Run* run, int64_t id) const {
    auto row = txn.get_for_update<&Thing::extra>(by_id_, id);
    if (!row && row.code() != ErrorCode::kNotFound) return row.error();
    if (row) txn.erase(*row);
    if (txn.failed()) return ErrorCode::kConflict;
    run->checks.push_back([id, ok = row.ok()](Shadow& shadow) {
      EXPECT_EQ(ok, shadow.now.contains(id)) << "erase of " << id;
      if (!ok) return;
      shadow.now.erase(id);
      shadow.written[id] |= kRow;
    });
    return {};
  }

  Result<void> change(Transaction& txn, Run* run) const {
    const int64_t id = some_id(txn);
    if (is_grouped(seed_) && below(txn, 3) == 0) return change_group(txn, run, id);
    auto row = txn.get_for_update(by_id_, id);
    if (!row && row.code() != ErrorCode::kNotFound) return row.error();
    if (!row) {
      run->checks.push_back(
          [id](Shadow& shadow) { EXPECT_FALSE(shadow.now.contains(id)) << "claim of " << id; });
      return {};
    }
    const ThingModel seen = model_of(row->values);
    run->checks.push_back([seen](Shadow& shadow) {
      const auto expected = shadow.now.find(seen.id);
      ASSERT_TRUE(expected != shadow.now.end());
      EXPECT_TRUE(expected->second == seen);
    });
    for (uint64_t n = 1 + below(txn, 3); n != 0; --n) {
      if (auto done = update(txn, run, *row, seen); !done) return done;
    }
    return {};
  }

  Result<void> change_group(Transaction& txn, Run* run, int64_t id) const {
    auto row = txn.get_for_update<&Thing::extra>(by_id_, id);
    if (!row && row.code() != ErrorCode::kNotFound) return row.error();
    std::optional<int64_t> seen;
    if (row) seen = number_or_null(row->values);
    const std::optional<int64_t> wanted =
        below(txn, 3) == 0 ? std::nullopt : std::optional(static_cast<int64_t>(below(txn, 100)));
    if (row) txn.update(*row, set<&Thing::extra>(number_cell(wanted)));
    run->checks.push_back([id, ok = row.ok(), seen, wanted](Shadow& shadow) {
      const auto expected = shadow.now.find(id);
      ASSERT_EQ(ok, expected != shadow.now.end());
      if (!ok) return;
      EXPECT_EQ(expected->second.extra, seen);
      expected->second.extra = wanted;
      shadow.written[id] |= kExtra;
    });
    return {};
  }

  using ClaimedThing = Claimed<Thing, Thing>;
  Result<void> update(Transaction& txn, Run* run, const ClaimedThing& row,
                      const ThingModel& seen) const {
    const int64_t id = seen.id;
    const auto apply = [&](uint32_t groups, const auto& change) {
      run->checks.push_back([id, groups, change](Shadow& shadow) {
        const auto at = shadow.now.find(id);
        ASSERT_TRUE(at != shadow.now.end());
        change(&at->second);
        shadow.written[id] |= groups;
      });
    };
    switch (below(txn, 8)) {
      case 0: {
        const int32_t code = some_code(txn);
        txn.update(row, set<&Thing::code>(code));
        return after_unique(txn, run, id, code, std::nullopt);
      }
      case 1: {
        const std::string label = some_label(txn);
        txn.update(row, set<&Thing::label>(std::string_view(label)));
        return after_unique(txn, run, id, std::nullopt, label);
      }
      case 2: {
        const int32_t code = some_code(txn);
        const std::string label = some_label(txn);
        txn.update(row, set<&Thing::label>(std::string_view(label)), set<&Thing::code>(code));
        return after_unique(txn, run, id, code, label);
      }
      case 3: {
        const auto tag = some_tag(txn);
        txn.update(row, set<&Thing::tag>(cell_of<base::Varchar<100>>(tag)));
        apply(kKeys, [tag](ThingModel* model) { model->tag = tag; });
        return {};
      }
      case 4: {
        const auto grade = some_grade(txn);
        const auto memo = some_memo(txn);
        txn.update(row, set<&Thing::memo>(cell_of<base::Text>(memo)),
                   set<&Thing::grade>(number_cell(grade)));
        apply(kKeys | kAmountAndMemo, [grade, memo](ThingModel* model) {
          model->grade = grade;
          model->memo = memo;
        });
        return {};
      }
      case 5: {  // from its own cells, as they were when it was claimed
        txn.update(row, set<&Thing::memo>(row.values.memo), set<&Thing::tag>(row.values.tag));
        apply(kKeys | kAmountAndMemo, [seen](ThingModel* model) {
          model->memo = seen.memo;
          model->tag = seen.tag;
        });
        return {};
      }
      case 6: {
        const auto amount = static_cast<int64_t>(below(txn, 1000));
        txn.update(row, set<&Thing::amount>(amount), set<&Thing::extra>(Nullable<int64_t>()));
        apply(kAmountAndMemo | kExtra, [amount](ThingModel* model) {
          model->amount = amount;
          model->extra = std::nullopt;
        });
        return {};
      }
      default: {
        const auto amount = static_cast<int64_t>(below(txn, 1000));
        txn.update(row, set<&Thing::amount>(amount));
        apply(kAmountAndMemo, [amount](ThingModel* model) { model->amount = amount; });
        return {};
      }
    }
  }
  // An update of unique keys: what became of it tells the next operation.
  Result<void> after_unique(Transaction& txn, Run* run, int64_t id, std::optional<int32_t> code,
                            std::optional<std::string> label) const {
    Result<void> outcome;
    if (txn.failed()) outcome = txn.get<&Thing::code>(by_id_, id).error();
    if (!outcome && outcome.code() == ErrorCode::kConflict) return outcome;
    run->checks.push_back([id, code, label, ok = outcome.ok()](Shadow& shadow) {
      const bool taken = shadow.has_other(id, [&](const ThingModel& row) {
        return (code && row.code == *code) || (label && row.label == *label);
      });
      EXPECT_EQ(ok, !taken) << "new unique key of " << id;
      const auto at = shadow.now.find(id);
      ASSERT_TRUE(at != shadow.now.end());
      if (code) at->second.code = *code;
      if (label) at->second.label = *label;
      shadow.written[id] |= kKeys;
    });
    return outcome;
  }

  static ScanOptions some_options(Transaction& txn) {
    ScanOptions options;
    if (below(txn, 2) == 0) options.direction = Direction::kBackward;
    if (below(txn, 2) == 0) options.limit = 1 + below(txn, 6);
    return options;
  }
  static void expect_seen(std::vector<ThingModel> expected, const std::vector<ThingModel>& seen,
                          const ScanOptions& options,
                          const std::function<bool(const ThingModel&, const ThingModel&)>& less) {
    std::stable_sort(expected.begin(), expected.end(), less);
    if (options.direction == Direction::kBackward) std::reverse(expected.begin(), expected.end());
    ASSERT_EQ(seen.size(), std::min<uint64_t>(expected.size(), options.limit));
    std::set<int64_t> ids;
    for (size_t i = 0; i < seen.size(); ++i) {
      EXPECT_TRUE(!less(seen[i], expected[i]) && !less(expected[i], seen[i])) << "order";
      EXPECT_TRUE(ids.insert(seen[i].id).second) << "twice";
      EXPECT_TRUE(std::find(expected.begin(), expected.end(), seen[i]) != expected.end());
    }
  }

  Result<void> scan_grades(Transaction& txn, Run* run) const {
    const ScanOptions options = some_options(txn);
    const auto low = some_grade(txn);
    const auto high = some_grade(txn);
    const bool one = below(txn, 2) == 0;
    const KeyRange range =
        one ? prefix(by_grade_, number_cell(low))
            : between(by_grade_, std::tuple(number_cell(low)), std::tuple(number_cell(high)));
    std::vector<ThingModel> seen;
    auto done = txn.scan(by_grade_, range, options, [&](const RowHandle&, const Thing& row) {
      seen.push_back(model_of(row));
      return ScanStep::kContinue;
    });
    if (!done) return done.error();
    EXPECT_EQ(*done, seen.size());
    run->checks.push_back([=](Shadow& shadow) {
      std::vector<ThingModel> expected;
      for (const auto& [id, row] : shadow.now) {
        const bool in = one ? row.grade == low
                            : !sorts_before(row.grade, low) && !sorts_before(high, row.grade);
        if (in) expected.push_back(row);
      }
      expect_seen(expected, seen, options, by_grade);
    });
    return {};
  }

  Result<void> scan_tag(Transaction& txn, Run* run) const {
    const ScanOptions options = some_options(txn);
    const auto tag = some_tag(txn);
    std::vector<ThingModel> seen;
    auto done = txn.scan(by_tag_, prefix(by_tag_, cell_of<base::Varchar<100>>(tag)), options,
                         [&](const RowHandle&, const Thing& row) {
                           seen.push_back(model_of(row));
                           return ScanStep::kContinue;
                         });
    if (!done) return done.error();
    run->checks.push_back([=](Shadow& shadow) {
      std::vector<ThingModel> expected;
      for (const auto& [id, row] : shadow.now) {
        if (row.tag == tag) expected.push_back(row);
      }
      expect_seen(expected, seen, options,
                  [](const ThingModel&, const ThingModel&) { return false; });
    });
    return {};
  }

  // Erases or changes the rows that it meets, of which no entry moves ahead of it.
  Result<void> scan_and_write(Transaction& txn, Run* run) const {
    const auto grade = some_grade(txn);
    const bool erases = below(txn, 3) == 0;
    std::vector<std::pair<ThingModel, bool>> seen;
    auto done = txn.scan(by_grade_, prefix(by_grade_, number_cell(grade)), some_options(txn),
                         [&](const RowHandle& handle, const Thing& values) {
                           const ThingModel met = model_of(values);
                           auto row = txn.claim<Thing>(handle);
                           if (!row) return ScanStep::kStop;
                           const bool erased = erases && below(txn, 2) == 0;
                           if (erased) {
                             txn.erase(*row);
                           } else {
                             txn.update(*row, set<&Thing::amount>(int64_t{-1}),
                                        set<&Thing::grade>(Nullable<int32_t>(100)));
                           }
                           seen.emplace_back(met, erased);
                           return txn.failed() ? ScanStep::kStop : ScanStep::kContinue;
                         });
    if (!done) return done.error();
    run->checks.push_back([=](Shadow& shadow) {
      for (const auto& [row, erased] : seen) {
        const auto at = shadow.now.find(row.id);
        ASSERT_TRUE(at != shadow.now.end());
        EXPECT_TRUE(at->second == row);
        EXPECT_EQ(row.grade, grade);
        if (erased) {
          shadow.now.erase(at);
          shadow.written[row.id] |= kRow;
        } else {
          at->second.amount = -1;
          at->second.grade = 100;
          shadow.written[row.id] |= kKeys | kAmountAndMemo;
        }
      }
    });
    return {};
  }

  // Puts the batch's runs in the order of their commits.
  void judge(const std::vector<Request>& requests) {
    std::map<uint64_t, Things> states;  // by VID
    states[vid_] = latest_;
    std::vector<size_t> order;
    for (size_t i = 0; i < requests.size(); ++i) {
      if (requests[i].outcome.ok() && requests[i].commit_vid.value != 0) order.push_back(i);
    }
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return requests[a].commit_vid < requests[b].commit_vid; });
    for (const size_t i : order) {
      ASSERT_EQ(requests[i].commit_vid.value, ++vid_);
      ++committed_;
      ASSERT_TRUE(states.contains(runs_[i].back().read_vid));
      const Shadow shadow = checked(states.at(runs_[i].back().read_vid), runs_[i].back());
      ASSERT_NO_FATAL_FAILURE(apply(shadow));
      states[vid_] = latest_;
    }
    for (size_t i = 0; i < requests.size(); ++i) {
      const bool committed = requests[i].outcome.ok() && requests[i].commit_vid.value != 0;
      if (!requests[i].outcome.ok()) {
        EXPECT_TRUE(requests[i].outcome.code() == ErrorCode::kAborted ||
                    requests[i].outcome.code() == ErrorCode::kAlreadyExists)
            << requests[i].outcome.error().to_string();
      }
      for (size_t r = 0; r + (committed ? 1 : 0) < runs_[i].size(); ++r) {
        ASSERT_TRUE(states.contains(runs_[i][r].read_vid));
        static_cast<void>(checked(states.at(runs_[i][r].read_vid), runs_[i][r]));
      }
    }
  }
  static Shadow checked(const Things& state, const Run& run) {
    Shadow shadow{state, state, {}};
    for (const Check& check : run.checks) check(shadow);
    return shadow;
  }
  void apply(const Shadow& shadow) {
    for (const auto& [id, groups] : shadow.written) {
      const auto before = shadow.before.find(id);
      const auto now = shadow.now.find(id);
      const auto there = latest_.find(id);
      // A row that came and went within the run is nothing to a snapshot's writers: another may
      // have inserted its key meanwhile. A serializable run has found the key free, and may not.
      const bool nothing = before == shadow.before.end() && now == shadow.now.end();
      if (nothing && !is_serializable(seed_)) continue;
      ASSERT_EQ(there != latest_.end(), before != shadow.before.end()) << "row " << id;
      const bool whole = !is_grouped(seed_) || (groups & kRow) != 0;
      // Nobody has changed meanwhile what this one has written.
      if (there != latest_.end()) {
        ThingModel expected = there->second;
        put(before->second, whole ? ~0u : groups, &expected);
        EXPECT_TRUE(expected == there->second) << "lost update of row " << id;
      }
      if (now == shadow.now.end()) {
        latest_.erase(id);
      } else {
        put(now->second, whole ? ~0u : groups, &latest_[id]);
      }
    }
    std::set<int32_t> codes;
    std::set<std::string> labels;
    for (const auto& [id, row] : latest_) {
      EXPECT_TRUE(codes.insert(row.code).second) << "code twice";
      EXPECT_TRUE(labels.insert(row.label).second) << "label twice";
    }
  }
  uint64_t seed_;
  std::mt19937_64 random_{seed_};
  base::Catalog catalog_;
  propagation::UpdateQueue queue_;
  TextReplica replica_;
  std::unique_ptr<Engine> engine_;
  TableRef<Thing> thing_;
  IndexRef<&Thing::id> by_id_;
  IndexRef<&Thing::code> by_code_;
  IndexRef<&Thing::label> by_label_;
  IndexRef<&Thing::grade, &Thing::tag> by_grade_;
  IndexRef<&Thing::tag> by_tag_;
  base::ProcedureId script_;
  std::vector<std::vector<Run>> runs_;  // [call]: all of its runs
  Things latest_;
  uint64_t vid_ = 0;
  uint64_t committed_ = 0;
};

// Under a sanitizer each seed has one number of workers, and a shorter history: all kinds of index
// come, and with 4 and 2 workers each isolation level with and without groups.
TEST(OwnWritesModel, EachOperationSeesTheSnapshotAndWhatTheRunHasDone) {
  constexpr size_t kShopBatches = kSanitized ? 12 : 30;
  uint64_t committed = 0;
  for (uint64_t seed = 1; seed <= 16; ++seed) {
    for (const uint32_t workers : {1u, 2u, 4u}) {
      if (kSanitized && workers != (seed <= 6 ? 4u : seed <= 12 ? 2u : 1u)) continue;
      SCOPED_TRACE("seed " + std::to_string(seed) + ", workers " + std::to_string(workers));
      Shop shop(workers, seed);
      for (size_t batch = 0; batch < kShopBatches; ++batch) {
        ASSERT_NO_FATAL_FAILURE(shop.run_batch(1 + batch % 20 * 5));
        shop.expect_agreement();
        if (::testing::Test::HasFailure()) return;
      }
      committed += shop.committed();
    }
  }
  EXPECT_GT(committed, kSanitized ? 2'000u : 20'000u);
}

}  // namespace
}  // namespace diptych::oltp::test
