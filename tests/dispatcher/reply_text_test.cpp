// Long strings in replies: they are the caller's, whatever becomes of the rows that they were in.

#include <atomic>
#include <cstring>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

#include <boost/describe.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dispatcher/database.h"
#include "tests/temporary_directory.h"

namespace diptych::dispatcher {
namespace {

struct Document {
  int64_t id = 0;
  base::Text body;
  base::Nullable<base::Varchar<100>> note;
};
BOOST_DESCRIBE_STRUCT(Document, (), (id, body, note))

struct DocumentKey {
  int64_t id = 0;
};
BOOST_DESCRIBE_STRUCT(DocumentKey, (), (id))

struct DocumentReply {
  base::Text body;
  int32_t bytes = 0;
  base::Nullable<base::Varchar<100>> note;
};
BOOST_DESCRIBE_STRUCT(DocumentReply, (), (body, bytes, note))

struct Written {
  base::Text before;
};
BOOST_DESCRIBE_STRUCT(Written, (), (before))

std::string body_of(int64_t id) {
  return std::string(static_cast<size_t>(id % 5000), static_cast<char>('a' + id % 26));
}

constexpr const char* kArchiveDdl =
    "CREATE TABLE document (id BIGINT NOT NULL PRIMARY KEY, body TEXT NOT NULL, "
    "note VARCHAR(100))";

struct Archive {
  std::unique_ptr<Database> database;
  ProcedureRef<DocumentKey, DocumentReply> read;
  ProcedureRef<Document, Written> write;       // replies what it has replaced
  ProcedureRef<DocumentKey, Written> made_up;  // replies what no row has

  explicit Archive(const DatabaseOptions& options) : database(*Database::open(options)) {
    if (database->catalog().find_table("document") == nullptr) {
      EXPECT_TRUE(database->execute_ddl(kArchiveDdl).ok());
    }
    const auto documents = *database->bind_table<Document>("document");
    const auto by_id = *database->bind_index<&Document::id>("document_pkey");
    read = *database->register_procedure<DocumentKey, DocumentReply>(
        "read", [=](Transaction& txn, const DocumentKey& key) -> base::Result<DocumentReply> {
          auto row = txn.get<&Document::body, &Document::note>(by_id, key.id);
          if (!row) return row.error();
          const auto& [body, note] = *row;
          return DocumentReply{body, static_cast<int32_t>(body.size), note};
        });
    write = *database->register_procedure<Document, Written>(
        "write", [=](Transaction& txn, const Document& document) -> base::Result<Written> {
          auto row = txn.get_for_update<&Document::body>(by_id, document.id);
          if (row) {
            txn.update(*row, set<&Document::body>(document.body));
            return Written{row->values};
          }
          if (row.code() != base::ErrorCode::kNotFound) return row.error();
          auto inserted = txn.insert(documents, document);
          if (!inserted) return inserted.error();
          return Written{document.body};
        });
    made_up = *database->register_procedure<DocumentKey, Written>(
        "made_up", [](Transaction& txn, const DocumentKey& key) -> base::Result<Written> {
          const std::string text = "document " + std::to_string(key.id) + std::string(300, '!');
          return Written{txn.keep(text)};
        });
  }

  auto put(int64_t id, const std::string& body) {
    return database->call(write, Document{id, std::string_view(body), {}}).get();
  }
};

TEST(ReplyText, IsTheCallersWhateverBecomesOfTheRow) {
  Archive archive({});
  ASSERT_TRUE(archive.put(7, body_of(4000)).ok());
  auto reply = archive.database->call(archive.read, {7}).get();
  ASSERT_TRUE(reply.ok()) << reply.error().to_string();
  auto replaced = archive.put(7, "short");
  ASSERT_TRUE(replaced.ok());
  for (int64_t id = 100; id < 200; ++id) ASSERT_TRUE(archive.put(id, body_of(4000 + id)).ok());
  const auto moved = std::move(reply);
  EXPECT_EQ(moved->body.view(), body_of(4000));
  EXPECT_EQ(moved->bytes, 4000);
  EXPECT_TRUE(moved->note.is_null);
  EXPECT_EQ(replaced->before.view(), body_of(4000));
  EXPECT_EQ(archive.database->call(archive.read, {7}).get()->body.view(), "short");
  EXPECT_EQ(archive.database->call(archive.read, {8}).get().code(), base::ErrorCode::kNotFound);
  static_assert(!std::is_copy_constructible_v<ReplyWithTexts<DocumentReply>>);
}

TEST(ReplyText, MayBeEmptyNullOrOneOfMany) {
  Archive archive({});
  const Document noted{1, base::Text(), base::Varchar<100>("a note")};
  ASSERT_TRUE(archive.database->call(archive.write, noted).get().ok());
  const auto reply = archive.database->call(archive.read, {1}).get();
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->body.view(), "");
  ASSERT_FALSE(reply->note.is_null);
  EXPECT_EQ(reply->note.value.view(), "a note");
}

TEST(ReplyText, MayBeMadeUpByTheProcedure) {
  Archive archive({});
  std::vector<Future<Written>> calls;
  for (int64_t i = 0; i < 1000; ++i) {
    calls.push_back(archive.database->call(archive.made_up, DocumentKey{i}));
  }
  for (size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(calls[i].get()->before.view(),
              "document " + std::to_string(i) + std::string(300, '!'));
  }
}

struct Greeting {
  base::Varchar<40> name;
  base::Nullable<base::Char<20>> title;
};
BOOST_DESCRIBE_STRUCT(Greeting, (), (name, title))

struct Greeted {
  base::Text name;
  base::Nullable<base::Varchar<100>> title;
  base::Nullable<base::Text> nothing;
};
BOOST_DESCRIBE_STRUCT(Greeted, (), (name, title, nothing))

// Its arguments are a copy, which is gone when the procedure has returned.
TEST(ReplyText, MayBeAShortStringOfTheArguments) {
  Archive archive({});
  const auto greet = *archive.database->register_procedure<Greeting, Greeted>(
      "greet", [](Transaction&, const Greeting& of) -> base::Result<Greeted> {
        return Greeted{of.name.view(), of.title.value.view(), {}};
      });
  for (int i = 0; i < 100; ++i) {
    const std::string name = "number " + std::to_string(i);
    const auto reply = archive.database->call(greet, Greeting{.name = name, .title = "Dr."}).get();
    ASSERT_TRUE(reply.ok()) << reply.error().to_string();
    EXPECT_EQ(reply->name.view(), name);
    EXPECT_EQ(reply->title.value.view(), "Dr.");
    EXPECT_TRUE(reply->nothing.is_null);
  }
}

// Returns a text in a variable that is gone. (Not hidden, the compilers would find it; under
// AddressSanitizer the variable would lie on no stack.)
[[gnu::noinline, gnu::no_sanitize_address]] base::Text text_in_a_variable(const DocumentKey& key) {
  char variable[32];
  std::memset(variable, 'a' + static_cast<int>(key.id % 26), sizeof variable);
  const char* hidden = variable;
  asm volatile("" : "+r"(hidden) : : "memory");
  return std::string_view(hidden, sizeof variable);
}

TEST(ReplyText, InAVariableThatIsGoneIsAnErrorThatNamesIt) {
  for (const uint32_t workers : {1u, 2u}) {
    DatabaseOptions options;
    options.placement.oltp_workers = workers;
    Archive archive(options);
    const auto forget = *archive.database->register_procedure<DocumentKey, DocumentReply>(
        "forget", [](Transaction&, const DocumentKey& key) -> base::Result<DocumentReply> {
          DocumentReply reply;
          reply.note = key.id % 2 == 0 ? base::Varchar<100>(text_in_a_variable(key).view())
                                       : base::Varchar<100>("a literal");
          return reply;
        });
    for (int64_t id = 0; id < 100; ++id) {
      const auto reply = archive.database->call(forget, {id}).get();
      ASSERT_EQ(reply.ok(), id % 2 == 1);
      if (reply.ok()) continue;
      EXPECT_EQ(reply.code(), base::ErrorCode::kInvalidArgument);
      EXPECT_THAT(reply.error().message,
                  testing::AllOf(testing::HasSubstr("procedure \"forget\", reply \"note\""),
                                 testing::HasSubstr("Transaction::keep")));
    }
  }
}

TEST(ReplyText, IsATextOfSqlWhereTheCallIsByName) {
  Archive archive({});
  ASSERT_TRUE(archive.put(1, body_of(3000)).ok());
  const base::Value arguments[] = {int64_t{1}};
  const auto reply = archive.database->call_by_name("read", arguments);
  ASSERT_TRUE(reply.ok()) << reply.error().to_string();
  EXPECT_EQ(*reply, (std::vector<base::Value>{body_of(3000), int64_t{3000}, base::kNull}));
}

// Their definition has only columns.
TEST(ReplyText, IsKeptForProceduresThatAreDefinedByHand) {
  Archive archive({});
  oltp::ProcedureDefinition definition;
  definition.name = "greet";
  definition.reply_bytes = sizeof(base::Text);
  definition.reply_columns = {
      {"greeting", {.kind = base::TypeKind::kVarchar}, base::Nullability::kNotNull, 0}};
  definition.body = [](Transaction& txn, std::span<const std::byte>,
                       std::span<std::byte> reply) -> base::Result<void> {
    const base::Text greeting = txn.keep(std::string(80, 'h'));
    std::memcpy(reply.data(), &greeting, sizeof greeting);
    return {};
  };
  ASSERT_TRUE(archive.database->register_definition(std::move(definition)).ok());
  const auto reply = archive.database->call_by_name("greet", {});
  ASSERT_TRUE(reply.ok()) << reply.error().to_string();
  EXPECT_EQ(*reply, std::vector<base::Value>{std::string(80, 'h')});
}

// Each asks for the next document as soon as it has one.
struct Chain {
  Request request;
  DocumentKey key;
  DocumentReply reply;
  Database* database = nullptr;
  int left = 200;
  uint64_t wrong = 0;
  std::promise<void> ended;

  static void next(Request* request) {
    auto* const self = static_cast<Chain*>(request->context);
    const bool is_right = request->outcome && self->reply.body.view() == body_of(self->key.id);
    if (!is_right) ++self->wrong;
    if (--self->left == 0) return self->ended.set_value();
    self->key.id = (self->key.id * 31 + 7) % 500;
    if (!self->database->submit(request, Admission::kWait)) self->ended.set_value();
  }
};

// The second database has two workers, whose transactions run into each other.
TEST(ReplyText, OfRequestsThatAreSubmittedAgainIsOfTheLastRun) {
  for (const uint32_t workers : {1u, 2u}) {
    DatabaseOptions options;
    options.placement.oltp_workers = workers;
    options.queue_requests = 64;
    Archive archive(options);
    for (int64_t id = 0; id < 500; ++id) ASSERT_TRUE(archive.put(id, body_of(id)).ok());
    std::vector<Chain> chains(16);
    for (size_t i = 0; i < chains.size(); ++i) {
      Chain& chain = chains[i];
      chain.database = archive.database.get();
      chain.key.id = static_cast<int64_t>(i);
      chain.request = Request::of(archive.read, &chain.key, &chain.reply, &Chain::next, &chain);
      ASSERT_TRUE(archive.database->submit(&chain.request, Admission::kWait).ok());
    }
    std::atomic<bool> ended{false};
    std::thread writer([&] {
      // relaxed: sooner or later.
      for (int64_t i = 0; !ended.load(std::memory_order_relaxed); ++i) {
        EXPECT_TRUE(archive.put(i % 500, body_of(i % 500)).ok());
      }
    });
    for (Chain& chain : chains) chain.ended.get_future().get();
    // relaxed: as above.
    ended.store(true, std::memory_order_relaxed);
    writer.join();
    for (const Chain& chain : chains) EXPECT_EQ(chain.wrong, 0u);
  }
}

TEST(ReplyText, IsNotWantedWhereTheLogIsReplayed) {
  const test::TemporaryDirectory directory;
  const DatabaseOptions options{.path = directory.path()};
  ASSERT_TRUE(Archive(options).database->close().ok());  // it is there then, and has a log
  {
    Archive archive(options);
    ASSERT_TRUE(archive.put(1, body_of(100)).ok());
    auto replaced = archive.put(1, body_of(200));
    ASSERT_TRUE(replaced.ok());
    EXPECT_EQ(replaced->before.view(), body_of(100));
    ASSERT_TRUE(archive.database->discard().ok());
  }
  Archive archive(options);
  EXPECT_EQ(archive.database->call(archive.read, {1}).get()->body.view(), body_of(200));
}

}  // namespace
}  // namespace diptych::dispatcher
