// What a log says gives the same database again: random procedures, whose choices hang on the order
// of equal keys, on snapshots and on keys that are taken, run by several workers at a time, with
// checkpoints among them; then every row of every table under its RowID, and the order in which
// indexes give them, are what they were before the crash.

#include <deque>
#include <optional>
#include <random>
#include <string>
#include <tuple>

#include <boost/describe.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/dispatcher/bank_fixture.h"
#include "tests/oltp/stress_yield.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using base::Result;

constexpr int32_t kMembers = 40;
constexpr int32_t kBranches = 3;
constexpr int32_t kParcels = 10;

struct Member {
  int32_t id = 0;
  int32_t branch = 0;
  base::Varchar<16> name;
  int64_t balance = 0;
  base::Text note;
  base::Nullable<base::Varchar<60>> other;
};
BOOST_DESCRIBE_STRUCT(Member, (), (id, branch, name, balance, note, other))

struct Booking {
  int32_t member = 0;
  int32_t number = 0;
  base::Nullable<int64_t> amount;
};
BOOST_DESCRIBE_STRUCT(Booking, (), (member, number, amount))

// Column groups: two may change one at a time.
struct Parcel {
  int64_t id = 0;
  int64_t shelf = 0;
  int64_t weight = 0;
  int64_t price = 0;
};
BOOST_DESCRIBE_STRUCT(Parcel, (), (id, shelf, weight, price))

constexpr const char* kDdl =
    "CREATE TABLE member (id INT NOT NULL PRIMARY KEY, branch INT NOT NULL, "
    "name VARCHAR(16) NOT NULL, balance BIGINT NOT NULL, note TEXT NOT NULL, other VARCHAR(60));"
    "CREATE UNIQUE INDEX member_name ON member (name);"
    "CREATE INDEX member_balance ON member (branch, balance);"
    "CREATE TABLE booking (member INT NOT NULL, number INT NOT NULL, amount BIGINT, "
    "PRIMARY KEY (member, number)) WITH (primary_index = ordered);"
    "CREATE TABLE parcel (id BIGINT NOT NULL PRIMARY KEY, shelf BIGINT NOT NULL, "
    "weight BIGINT NOT NULL, price BIGINT NOT NULL) WITH (column_groups = '(weight) (price)');"
    "CREATE INDEX parcel_shelf ON parcel (shelf);";

struct Shuffle {
  int32_t salt = 0;
};
BOOST_DESCRIBE_STRUCT(Shuffle, (), (salt))

// Writes nothing to the database, so it is in no log.
struct Dump {
  std::string* text = nullptr;
};

struct Tables {
  TableRef<Member> member;
  TableRef<Booking> booking;
  TableRef<Parcel> parcel;
  IndexRef<&Member::id> member_pkey;
  IndexRef<&Member::name> member_name;
  IndexRef<&Member::branch, &Member::balance> member_balance;
  IndexRef<&Booking::member, &Booking::number> booking_pkey;
  IndexRef<&Parcel::id> parcel_pkey;
  IndexRef<&Parcel::shelf> parcel_shelf;

  explicit Tables(const Database& database)
      : member(*database.bind_table<Member>("member")),
        booking(*database.bind_table<Booking>("booking")),
        parcel(*database.bind_table<Parcel>("parcel")),
        member_pkey(*database.bind_index<&Member::id>("member_pkey")),
        member_name(*database.bind_index<&Member::name>("member_name")),
        member_balance(*database.bind_index<&Member::branch, &Member::balance>("member_balance")),
        booking_pkey(*database.bind_index<&Booking::member, &Booking::number>("booking_pkey")),
        parcel_pkey(*database.bind_index<&Parcel::id>("parcel_pkey")),
        parcel_shelf(*database.bind_index<&Parcel::shelf>("parcel_shelf")) {}
};

// One call's steps. What is not there, or is taken, is met by design.
class Shuffler {
 public:
  Shuffler(const Tables& tables, Transaction& txn, int32_t salt)
      : tables_(tables), txn_(txn), salt_(salt) {}

  Result<Nothing> run() {
    for (uint64_t step = 1 + random(4); step != 0; --step) {
      const Result<void> done = run_step();
      if (!done && done.code() != ErrorCode::kNotFound && done.code() != ErrorCode::kAlreadyExists)
        return done.error();
    }
    if (random(8) == 0) return txn_.abort("one in eight");
    return Nothing{};
  }

 private:
  uint64_t random(uint64_t below) { return txn_.random() % below; }
  int32_t some_member() { return static_cast<int32_t>(random(kMembers)); }

  // Where others come in meanwhile, what it reads is older than what it writes.
  Result<void> run_step() {
    oltp::let_others_in();
    switch (random(6)) {
      case 0: return insert_member();
      case 1: return erase_member();
      case 2: return change_nth();
      case 3: return skew();
      case 4: return change_parcel();
      default: return insert_and_erase();
    }
  }

  Result<void> insert_member() {
    const int32_t id = some_member();
    const std::string name = fmt::format("name{}", random(60));
    const std::string note(random(300), static_cast<char>('a' + salt_ % 26));
    Member row{id,
               static_cast<int32_t>(random(kBranches)),
               {name},
               txn_.now().micros % 5,
               base::Text(note),
               {}};
    if (random(2) == 0) row.other = base::Varchar<60>(std::string_view(note).substr(0, 60));
    auto inserted = txn_.insert(tables_.member, row);
    return inserted ? Result<void>() : inserted.error();
  }

  Result<void> erase_member() {
    auto row = txn_.get_for_update<&Member::id>(tables_.member_pkey, some_member());
    if (!row) return row.error();
    txn_.erase(*row);
    return {};
  }

  // Of rows with equal keys, which one is the n-th hangs on their RowIDs.
  Result<void> change_nth() {
    const auto branch = static_cast<int32_t>(random(kBranches));
    uint64_t left = random(6);
    std::optional<RowHandle> found;
    auto scanned =
        txn_.scan<&Member::id>(tables_.member_balance, prefix(tables_.member_balance, branch), {},
                               [&](const RowHandle& handle, int32_t) {
                                 found = handle;
                                 return left-- == 0 ? ScanStep::kStop : ScanStep::kContinue;
                               });
    if (!scanned) return scanned.error();
    if (!found) return {};
    auto claimed = txn_.claim<Member>(*found);
    if (!claimed) return claimed.error();
    txn_.update(*claimed, set<&Member::balance>(static_cast<int64_t>(random(5))));
    return {};
  }

  // Reads one row and writes another: under snapshot isolation what it reads may be old.
  Result<void> skew() {
    auto read = txn_.get<&Member::balance>(tables_.member_pkey, some_member());
    if (!read) return read.error();
    auto row = txn_.get_for_update<&Member::balance>(tables_.member_pkey, some_member());
    if (!row) return row.error();
    const std::string note = fmt::format("{} of {}", row->values, *read);
    txn_.update(*row, set<&Member::balance>(*read + 1), set<&Member::note>(base::Text(note)));
    return {};
  }

  Result<void> change_parcel() {
    const auto id = static_cast<int64_t>(random(kParcels));
    auto found = txn_.find<&Parcel::price>(tables_.parcel_pkey, id);
    if (!found) {
      auto inserted = txn_.insert(tables_.parcel, Parcel{id, id % 3, 1, 1});
      return inserted ? Result<void>() : inserted.error();
    }
    auto claimed = txn_.claim<Parcel, &Parcel::weight>(found->handle);
    if (!claimed) return claimed.error();
    txn_.update(*claimed, set<&Parcel::weight>(found->values + salt_));
    return {};
  }

  Result<void> insert_and_erase() {
    const Booking row{some_member(), static_cast<int32_t>(random(4)), int64_t{salt_}};
    auto inserted = txn_.insert(tables_.booking, row);
    if (!inserted) return inserted.error();
    auto again = txn_.insert(tables_.booking, Booking{row.member, row.number + 10, {}});
    if (!again) return again.error();
    auto claimed = txn_.claim<Booking>(*inserted);
    if (!claimed) return claimed.error();
    txn_.erase(*claimed);
    return {};
  }

  const Tables& tables_;
  Transaction& txn_;
  const int32_t salt_;
};

Result<Nothing> dump(const Tables& tables, Transaction& txn, std::string* text) {
  for (int32_t id = 0; id < kMembers; ++id) {
    const auto row = txn.find(tables.member_pkey, id);
    if (!row && row.code() == ErrorCode::kNotFound) continue;
    if (!row) return row.error();
    const Member& member = row->values;
    *text += fmt::format("member {} row {}: {} {} {} {} {}\n", id, row->handle.row_id.value,
                         member.branch, member.name.view(), member.balance, member.note.view(),
                         member.other.has_value() ? (*member.other).view() : "null");
    // Its other unique index knows it too.
    const auto named = txn.find(tables.member_name, member.name);
    if (!named) return named.error();
    *text += fmt::format("named: row {}\n", named->handle.row_id.value);
  }
  const auto note_row = [&](const RowHandle& handle, auto... values) {
    *text += fmt::format("row {}:", handle.row_id.value);
    ((*text += fmt::format(" {}", values)), ...);
    *text += "\n";
    return ScanStep::kContinue;
  };
  for (int32_t branch = 0; branch < kBranches; ++branch) {
    auto scanned = txn.scan<&Member::balance>(tables.member_balance,
                                              prefix(tables.member_balance, branch), {}, note_row);
    if (!scanned) return scanned.error();
  }
  for (int32_t member = 0; member < kMembers; ++member) {
    auto scanned = txn.scan(tables.booking_pkey, prefix(tables.booking_pkey, member), {},
                            [&](const RowHandle& handle, const Booking& row) {
                              return note_row(handle, row.member, row.number,
                                              row.amount.has_value() ? *row.amount : -1);
                            });
    if (!scanned) return scanned.error();
  }
  for (int64_t shelf = 0; shelf < 3; ++shelf) {
    auto scanned = txn.scan(tables.parcel_shelf, prefix(tables.parcel_shelf, shelf), {},
                            [&](const RowHandle& handle, const Parcel& row) {
                              return note_row(handle, row.id, row.shelf, row.weight, row.price);
                            });
    if (!scanned) return scanned.error();
  }
  return Nothing{};
}

// A database, its procedures, and what they did.
class Shuffled {
 public:
  explicit Shuffled(const DatabaseOptions& options) {
    auto opened = Database::open(options);
    EXPECT_TRUE(opened.ok()) << opened.error().to_string();
    database_ = std::move(*opened);
    if (database_->catalog().find_table("member") == nullptr) {
      const auto created = database_->execute_ddl(kDdl);
      EXPECT_TRUE(created.ok()) << created.error().to_string();
    }
    shuffle_ = *database_->register_procedure<Shuffle, Nothing>(
        "shuffle", [tables = Tables(*database_)](Transaction& txn, const Shuffle& order) {
          return Shuffler(tables, txn, order.salt).run();
        });
    dump_ = *database_->register_procedure<Dump, Nothing>(
        "dump", [tables = Tables(*database_)](Transaction& txn, const Dump& order) {
          return dump(tables, txn, order.text);
        });
  }

  Database* operator->() { return database_.get(); }

  // Many at a time, so that batches have several each.
  void run(int calls, std::mt19937_64* random) {
    std::deque<Future<Nothing>> waiting;
    uint64_t committed = 0;
    const auto take = [&] {
      const auto done = waiting.front().get();
      waiting.pop_front();
      if (done) ++committed;
      EXPECT_TRUE(done.ok() || done.code() == ErrorCode::kAborted) << done.error().to_string();
    };
    for (int i = 0; i < calls; ++i) {
      if (waiting.size() == 64) take();
      waiting.push_back(
          database_->call(shuffle_, {.salt = static_cast<int32_t>((*random)() % 1000)}));
    }
    while (!waiting.empty()) take();
    EXPECT_GT(committed, static_cast<uint64_t>(calls) / 2);
  }

  // All there is, as both replicas have it; or why it cannot be said.
  std::string all() {
    const auto compared = database_->compare_replicas();
    if (!compared) return compared.error().to_string();
    EXPECT_EQ(compared->differences, 0u);
    std::string text = fmt::format("VID {}\n", compared->vid.value);
    const auto dumped = database_->call(dump_, {&text}).get();
    if (!dumped) return dumped.error().to_string();
    for (const char* const table : {"member", "booking", "parcel"}) {
      const auto rows = database_->query(fmt::format("SELECT * FROM {} ORDER BY 1, 2", table));
      if (!rows) return rows.error().to_string();
      for (const auto& row : rows->rows) {
        for (const base::Value& value : row) text += base::to_string(value) + "|";
        text += "\n";
      }
    }
    return text;
  }

 private:
  std::unique_ptr<Database> database_;
  ProcedureRef<Shuffle, Nothing> shuffle_;
  ProcedureRef<Dump, Nothing> dump_;
};

class LogReplayModel
    : public DirectoryFixture,
      public ::testing::WithParamInterface<std::tuple<LogMode, IsolationLevel, uint32_t>> {
 protected:
  DatabaseOptions options() const {
    const auto& [mode, isolation, workers] = GetParam();
    DatabaseOptions with{.path = path(), .isolation = isolation, .log = mode};
    with.placement.oltp_workers = workers;
    with.log_file_bytes = 16 << 10;
    return with;
  }
};

TEST_P(LogReplayModel, RowsRowIdsOrderAndVidsAreAsTheyWere) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::filesystem::remove_all(path());
    std::mt19937_64 random(seed);
    ASSERT_TRUE(Shuffled(options())->close());
    std::string before;
    // The second life begins with what the first one's log gave.
    for (int life = 0; life < 2; ++life) {
      Shuffled database(options());
      if (life != 0) {
        ASSERT_EQ(database.all(), before);
      }
      database.run(150, &random);
      if (random() % 2 == 0) {
        ASSERT_TRUE(database->checkpoint());
      }
      database.run(150, &random);
      before = database.all();
      static_cast<void>(database->discard());
    }
    DatabaseOptions others = options();
    others.placement.oltp_workers = 1 + static_cast<uint32_t>(random() % 4);
    Shuffled database(others);
    const auto recovered = database->recover();
    ASSERT_TRUE(recovered.ok()) << recovered.error().to_string();
    EXPECT_GT(recovered->transactions, 50u);
    ASSERT_EQ(database.all(), before);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, LogReplayModel,
    ::testing::Combine(::testing::Values(LogMode::kCommand, LogMode::kPhysical),
                       ::testing::Values(IsolationLevel::kSnapshot, IsolationLevel::kSerializable),
                       ::testing::Values(1, 2, 3, 4, 8)));

}  // namespace
}  // namespace diptych::dispatcher
