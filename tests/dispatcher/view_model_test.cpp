// Random tables and views that are made, replaced, used and dropped, beside calls, checkpoints,
// closes and crashes, against a model that has each view as its sources.

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "storage/manifest.h"
#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

constexpr int32_t kRows = 4;         // of the table account, which all others join
constexpr uint64_t kWeightMax = 90;  // SELECTs of a view: what uses two of them is within limits

// A table holds no rows; it gives each account's version. A view gives the sum of its
// sources, and a constant.
struct Relation {
  bool is_table = true;
  std::vector<std::string> sources = {};
  int64_t constant = 0;
};

class ViewModel : public DirectoryFixture, public ::testing::WithParamInterface<uint64_t> {
 protected:
  void open() {
    bank_ = Bank::open({.path = path()});
    if (*bank_->number("SELECT count(*) FROM account") == 0) bank_->fill(kRows);
  }
  uint64_t below(uint64_t limit) { return random_() % limit; }
  bool uses(const std::string& user, const std::string& name) const {
    if (user == name) return true;
    const auto found = relations_.find(user);
    return found != relations_.end() &&
           std::ranges::any_of(found->second.sources,
                               [&](const std::string& source) { return uses(source, name); });
  }
  bool is_used_beyond(const std::set<std::string>& names) const {
    return std::ranges::any_of(relations_, [&](const auto& relation) {
      return !names.contains(relation.first) &&
             std::ranges::any_of(relation.second.sources,
                                 [&](const std::string& source) { return names.contains(source); });
    });
  }
  uint64_t weight(const std::string& name) const {
    uint64_t sum = 1;
    for (const std::string& source : relations_.at(name).sources) sum += weight(source);
    return sum;
  }
  int64_t value(const std::string& name, int64_t version) const {
    const Relation& relation = relations_.at(name);
    if (relation.is_table) return version;
    int64_t sum = relation.constant;
    for (const std::string& source : relation.sources) sum += value(source, version);
    return sum % 1'000;
  }

  std::string table_statement(const std::string& name) const {
    return fmt::format("CREATE TABLE {} (id INT PRIMARY KEY, n BIGINT)", name);
  }
  // Of a table the accounts' versions, joined so that the table is used.
  std::string view_statement(const std::string& name, const Relation& view, bool replaces) const {
    std::string from = "account x";
    std::string sum = std::to_string(view.constant);
    for (size_t i = 0; i < view.sources.size(); ++i) {
      from += fmt::format(" LEFT JOIN {} s{} ON s{}.id = x.id", view.sources[i], i, i);
      const bool is_table = relations_.at(view.sources[i]).is_table;
      sum +=
          is_table ? fmt::format(" + coalesce(s{}.n, x.version)", i) : fmt::format(" + s{}.n", i);
    }
    return fmt::format("CREATE {}VIEW {} AS SELECT x.id, ({}) % 1000::bigint AS n FROM {}",
                       replaces ? "OR REPLACE " : "", name, sum, from);
  }

  std::string name(const char* kind) { return fmt::format("{}{}", kind, below(6)); }
  void run(const std::string& statement, bool is_taken) {
    const auto done = bank_->database->execute_ddl(statement);
    ASSERT_EQ(done.ok(), is_taken) << statement << (done ? "" : ": " + done.error().to_string());
  }

  void create_table() {
    const std::string table = name("r");
    const bool is_free = !relations_.contains(table);
    run(table_statement(table), is_free);
    if (is_free) relations_[table] = {};
  }
  void create_view() {
    const std::string view = name(below(4) == 0 ? "r" : "v");
    Relation made{.is_table = false, .constant = static_cast<int64_t>(below(100))};
    uint64_t sum = 1;
    for (uint64_t n = below(3); n != 0 && !relations_.empty(); --n) {
      const auto source =
          std::next(relations_.begin(), static_cast<ptrdiff_t>(below(relations_.size())));
      sum += weight(source->first);
      made.sources.push_back(source->first);
    }
    const auto there = relations_.find(view);
    const bool is_there = there != relations_.end();
    const bool replaces = below(2) == 0;
    const bool is_of_itself = std::ranges::any_of(
        made.sources, [&](const std::string& source) { return uses(source, view); });
    // What uses it grows with it: a smaller one is always within limits.
    if (is_there && sum > weight(view)) return;
    if (sum > kWeightMax) return;
    const bool is_taken = !is_there || (replaces && !there->second.is_table && !is_of_itself);
    run(view_statement(view, made, replaces), is_taken);
    if (is_taken) relations_[view] = made;
  }
  void drop() {
    std::set<std::string> names;
    const bool tables = below(3) == 0;
    for (uint64_t n = 1 + below(3); n != 0; --n)
      names.insert(name(tables || below(4) == 0 ? "r" : "v"));
    const bool all_there = std::ranges::all_of(names, [&](const std::string& each) {
      const auto found = relations_.find(each);
      return found != relations_.end() && found->second.is_table == tables;
    });
    const bool is_taken = all_there && !is_used_beyond(names);
    run(fmt::format("DROP {} {}", tables ? "TABLE" : "VIEW", fmt::join(names, ", ")), is_taken);
    if (!is_taken) return;
    for (const std::string& each : names) relations_.erase(each);
  }
  void bump() {
    const auto id = static_cast<int32_t>(below(kRows));
    ASSERT_TRUE(bank_->database->call(bank_->bump, {id, {}}).get().ok());
    ++versions_[static_cast<size_t>(id)];
  }
  void reopen() {
    ASSERT_TRUE((below(2) == 0 ? bank_->database->close() : bank_->database->discard()).ok());
    bank_.reset();
    open();
    check();
  }
  void check() {
    std::set<std::string> found;
    for (const base::TableSchema& table : bank_->database->catalog().tables())
      found.insert(table.name);
    for (const base::Catalog::ViewPtr& view : bank_->database->catalog().views()) {
      found.insert(view->name);
      for (int32_t id = 0; id < kRows; ++id) {
        const auto n = bank_->number(fmt::format("SELECT n FROM {} WHERE id = {}", view->name, id));
        ASSERT_TRUE(n.ok()) << n.error().to_string();
        ASSERT_EQ(*n, value(view->name, versions_[static_cast<size_t>(id)])) << view->name;
      }
    }
    std::set<std::string> expected = {"account"};
    for (const auto& [each, relation] : relations_) expected.insert(each);
    ASSERT_EQ(found, expected);
  }

  std::mt19937_64 random_{GetParam()};
  std::unique_ptr<Bank> bank_;
  std::map<std::string, Relation> relations_;
  std::vector<int64_t> versions_ = std::vector<int64_t>(kRows);
};

TEST_P(ViewModel, IsWhatTheDatabaseHasAfterEachOpening) {
  Bank::open({.path = path()});  // discard() would take a new one away
  open();
  size_t views = 0;
  for (int step = 0; step < 250 && !HasFatalFailure(); ++step) {
    switch (below(16)) {
      case 0:
      case 1: create_table(); break;
      case 2:
      case 3:
      case 4: drop(); break;
      case 5: ASSERT_TRUE(bank_->database->checkpoint().ok()); break;
      case 6: reopen(); break;
      case 7: bump(); break;
      case 8: check(); break;
      default: create_view();
    }
    views = std::max(views, bank_->database->catalog().views().size());
  }
  reopen();
  EXPECT_GT(views, 4U) << "the seed makes some";
  const size_t statements = storage::read_manifest(path())->ddl.size();
  EXPECT_EQ(statements,
            bank_->database->catalog().table_count() + bank_->database->catalog().views().size());
}

INSTANTIATE_TEST_SUITE_P(Seeds, ViewModel, ::testing::Range<uint64_t>(1, 7));

}  // namespace
}  // namespace diptych::dispatcher
