// DDL: how a statement changes catalog, engine and replica together, or not at all.

#include <algorithm>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/key.h"
#include "base/row_layout.h"
#include "base/utf8.h"
#include "dispatcher/database_state.h"
#include "dispatcher/metric_registry.h"
#include "olap/name_length.h"

namespace diptych::dispatcher {
namespace {

// A statement's beginning, on one line and in UTF-8, for an error message.
std::string beginning_of(std::string_view statement) {
  constexpr size_t kBytesMax = 60;
  std::string text;
  for (const char c : statement.substr(0, base::valid_utf8_bytes(statement))) {
    const bool blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (blank && (text.empty() || text.back() == ' ')) continue;
    text += blank ? ' ' : c;
    if (text.size() == kBytesMax) {
      text.resize(base::valid_utf8_bytes(text));
      return text + "...";
    }
  }
  return text;
}

bool is_of_views(const olap::DdlChange& change) {
  return std::holds_alternative<olap::CreateView>(change) ||
         std::holds_alternative<olap::DropViews>(change);
}

// An index that could have no row. A database of an older program may have one: it is opened.
base::Result<void> check_new_key(const base::TableSchema& table, const base::IndexSchema& index) {
  const size_t bytes = base::shortest_key(base::RowLayout(table), index.columns);
  if (bytes <= base::kKeyBytesMax) return {};
  return base::Error(
      base::ErrorCode::kInvalidArgument,
      fmt::format("index \"{}\" of table \"{}\" could have no row: its shortest key has {} bytes, "
                  "and {} are possible (a text of a column of at most 32 bytes counts with all of "
                  "the column's and one more)",
                  index.name, table.name, bytes, base::kKeyBytesMax));
}

base::Result<void> check_new_keys(const base::Catalog& catalog, const olap::DdlChange& change) {
  if (const auto* const created = std::get_if<olap::CreateIndex>(&change)) {
    return check_new_key(*catalog.find_table(created->table), created->index);
  }
  if (const auto* const table = std::get_if<olap::CreateTable>(&change)) {
    if (catalog.find_table(table->schema.name) != nullptr) return {};  // which is said then
    for (const base::IndexSchema& index : table->schema.indexes) {
      if (auto fits = check_new_key(table->schema, index); !fits) return fits;
    }
  }
  return {};
}

std::string quoted_identifier(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

}  // namespace

base::Result<void> Database::State::create_table(std::string statement, base::TableSchema schema,
                                                 DdlSource source) {
  ddl.reserve(1);  // as it may throw; here and below
  auto id = catalog.add_table(std::move(schema));
  if (!id) return id.error();
  const auto add = [&] {
    engine.add_table(*id);
    replica.add_table(catalog.table(*id));
  };
  // Where memory runs out between them the process ends: nothing of it was saved yet. A database
  // that is being opened is given up as a whole.
  if (source == DdlSource::kManifest) {
    add();
  } else {
    [&]() noexcept { add(); }();
  }
  DIPTYCH_CHECK(replica.table_count() == catalog.table_count(), "every table is replicated");
  ddl.add_table(std::move(statement), catalog.table(*id));
  return {};
}

base::Result<void> Database::State::create_index(std::string statement, std::string_view table,
                                                 base::IndexSchema index) {
  const base::TableSchema* schema = catalog.find_table(table);
  if (schema == nullptr) {
    return base::Error(base::ErrorCode::kNotFound, fmt::format("no table \"{}\"", table));
  }
  ddl.reserve(1);
  const base::TableId table_id = schema->id;
  auto id = catalog.add_index(table_id, std::move(index));
  if (!id) return id.error();
  base::Result<void> built;
  if (olap_dispatcher != nullptr) engine.set_room(data_room());  // else the database is empty yet
  try {
    built = engine.add_index(table_id, *id);
  } catch (const std::bad_alloc&) {
    built = base::Error(base::ErrorCode::kOutOfMemory, "there is no memory left for the index");
  }
  if (!built) {
    catalog.remove_last_index(table_id);
    return built;
  }
  ddl.add_index(std::move(statement), table_id, *id);
  return {};
}

// What they had before is applied, so that nothing of it comes later.
base::Result<void> Database::State::drop_tables(const BatchGate::Exclusive& held,
                                                std::span<const std::string> names,
                                                DdlSource source) {
  const bool have_rows = source == DdlSource::kScript;
  if (have_rows) {
    olap_dispatcher->bring_up_to_date();
    if (auto usable = olap_dispatcher->check_replica(); !usable) return usable;
  }
  const auto dropped = catalog.drop_tables(names);
  if (!dropped) return dropped.error();
  [&]() noexcept {  // as in create_table
    for (const base::Catalog::DroppedTable& table : *dropped) {
      engine.drop_table(table->id);
      ddl.drop_table(table->id);
      if (have_rows) {
        olap_dispatcher->drop_table(table, held);
      } else {
        replica.drop_table(table);
      }
    }
  }();
  return {};
}

void Database::State::add_dropped_table() {
  ddl.reserve(1);
  ddl.add_dropped_table(base::TableId(static_cast<uint32_t>(catalog.table_count())));
  catalog.pass_table_id();
  replica.add_dropped_table();
}

base::Result<void> Database::State::drop_indexes(std::span<const std::string> names) {
  std::vector<std::string> statements;
  for (const std::string& name : names) {
    statements.push_back(fmt::format("DROP INDEX {}", quoted_identifier(name)));
  }
  ddl.reserve(names.size());
  const auto dropped = catalog.drop_indexes(names);
  if (!dropped) return dropped.error();
  for (size_t i = 0; i < names.size(); ++i) {
    const base::Catalog::DroppedIndex& index = (*dropped)[i];
    engine.drop_index(index.table, index.index);
    if (index.uniqueness == base::Uniqueness::kUnique) {
      ddl.drop_unique_index(std::move(statements[i]), index.table);
    } else {
      ddl.drop_index(index.index);
    }
  }
  return {};
}

base::Result<void> Database::State::create_view(std::string statement, olap::CreateView change) {
  std::string name = change.view.name;
  ddl.reserve(1);
  if (auto done = olap::apply_to(&catalog, std::move(change)); !done) return done;
  // One that is replaced, and the views that use it, have become the last ones of the catalog.
  const auto views = catalog.views();
  auto user = std::ranges::find_if(views, [&](const auto& view) { return view->name == name; });
  ddl.drop_view(name);
  ddl.add_view(std::move(statement), std::move(name));
  while (++user != views.end()) ddl.move_view_to_end((*user)->name);
  return {};
}

base::Result<void> Database::State::drop_views(std::span<const std::string> names) {
  if (auto dropped = catalog.drop_views(names); !dropped) return dropped;
  for (const std::string& name : names) ddl.drop_view(name);
  return {};
}

base::Result<void> Database::State::truncate_tables(const BatchGate::Exclusive& held,
                                                    std::span<const std::string> names) {
  olap_dispatcher->bring_up_to_date();  // as in drop_tables
  if (auto usable = olap_dispatcher->check_replica(); !usable) return usable;
  clock.batch_begins(base::steady_ns());
  [&]() noexcept {  // as in create_table
    for (const std::string& name : names) {
      const base::TableId id = catalog.find_table(name)->id;
      const base::Vid vid = engine.truncate_table(id);
      olap_dispatcher->clear_table(id, held);
      replica.set_snapshot(vid);
    }
  }();
  clock.batch_ends(engine.last_vid());
  if (log != nullptr) log->skip_to(engine.last_vid());
  return {};
}

base::Result<void> Database::State::apply(const BatchGate::Exclusive& held, std::string statement,
                                          olap::DdlChange change, DdlSource source) {
  if (auto* const table = std::get_if<olap::CreateTable>(&change)) {
    return create_table(std::move(statement), std::move(table->schema), source);
  }
  if (auto* const index = std::get_if<olap::CreateIndex>(&change)) {
    return create_index(std::move(statement), index->table, std::move(index->index));
  }
  if (auto* const view = std::get_if<olap::CreateView>(&change)) {
    return create_view(std::move(statement), std::move(*view));
  }
  if (const auto* const dropped = std::get_if<olap::DropViews>(&change)) {
    return drop_views(dropped->views);
  }
  if (const auto* const dropped = std::get_if<olap::DropTables>(&change)) {
    return drop_tables(held, dropped->tables, source);
  }
  if (const auto* const dropped = std::get_if<olap::DropIndexes>(&change)) {
    return drop_indexes(dropped->indexes);
  }
  return truncate_tables(held, std::get<olap::TruncateTables>(change).tables);
}

// An index that could refuse a row of before would have the replay of its call do something else:
// one that is unique, or with keys that may be too long, unless its table is new.
Database::State::DdlEffect Database::State::effect_of(const olap::DdlChange& change,
                                                      base::TableId first_new) const {
  if (std::holds_alternative<olap::NoChange>(change)) return DdlEffect::kNone;
  if (std::holds_alternative<olap::CreateTable>(change) || is_of_views(change)) {
    return DdlEffect::kAdds;
  }
  const auto* const created = std::get_if<olap::CreateIndex>(&change);
  if (created == nullptr) return DdlEffect::kChanges;
  const base::TableSchema* const table = catalog.find_table(created->table);
  const bool is_new = table != nullptr && table->id >= first_new;
  const bool takes_all = table != nullptr &&
                         created->index.uniqueness == base::Uniqueness::kNonUnique &&
                         base::longest_key(base::RowLayout(*table), created->index.columns);
  return is_new || takes_all ? DdlEffect::kAdds : DdlEffect::kChanges;
}

base::Result<ModuleRegistry::Rebound> Database::State::rebind_modules(
    const olap::DdlChange& change) const {
  if (modules.empty()) return ModuleRegistry::Rebound();
  base::Catalog then(catalog);
  // The change itself will be refused, with the same error.
  if (!olap::apply_to(&then, change)) return ModuleRegistry::Rebound();
  return modules.rebind(then, procedures);
}

base::Result<Database::State::DdlEffect> Database::State::apply_ddl(
    const BatchGate::Exclusive& held, const std::string& statement, DdlSource source,
    base::TableId first_new) {
  auto change = olap::parse_ddl(statement, catalog, known_system_tables);
  if (!change) return change.error();
  const DdlEffect effect = effect_of(*change, first_new);
  if (effect == DdlEffect::kNone) return effect;
  const auto* const table = std::get_if<olap::CreateTable>(&*change);
  const auto* const view = std::get_if<olap::CreateView>(&*change);
  const bool takes_name = (table != nullptr && table->schema.name == kMetricsTable) ||
                          (view != nullptr && view->view.name == kMetricsTable);
  if (source == DdlSource::kScript && takes_name) {
    return base::Error(
        base::ErrorCode::kInvalidArgument, "42939",
        fmt::format("the name \"{}\" is reserved: it is a table of the system's", kMetricsTable));
  }
  const bool changes_schema = !std::holds_alternative<olap::TruncateTables>(*change);
  if (!changes_schema && source == DdlSource::kManifest) {
    return base::Error(base::ErrorCode::kInvalidArgument, "TRUNCATE makes no schema");
  }
  const bool makes =
      table != nullptr || view != nullptr || std::holds_alternative<olap::CreateIndex>(*change);
  if (source == DdlSource::kScript && makes) {
    if (auto fits = check_new_keys(catalog, *change); !fits) return fits.error();
    const std::string_view name = table != nullptr ? table->schema.name : std::string_view();
    if (auto room = check_manifest_room(statement, name); !room) return room.error();
  }
  base::Result<ModuleRegistry::Rebound> rebound = ModuleRegistry::Rebound();
  const bool changes_tables = changes_schema && !is_of_views(*change);
  if (source == DdlSource::kScript && changes_tables) rebound = rebind_modules(*change);
  if (!rebound) return rebound.error();
  if (auto applied = apply(held, statement, *std::move(change), source); !applied) {
    return applied.error();
  }
  if (rebound->empty()) return effect;
  modules.install_again(*std::move(rebound), &engine, &procedures);
  return DdlEffect::kChanges;  // calls of before were bound otherwise
}

base::Result<void> Database::State::check_manifest_room(std::string_view statement,
                                                        std::string_view table) const {
  if (options.path.empty()) return {};
  const uint64_t with_it = ddl.manifest_bytes() + storage::manifest_bytes_at_most(statement, table);
  if (with_it <= storage::kManifestBytesMax) return {};
  return base::Error(
      base::ErrorCode::kUnsupported,
      fmt::format("with it, the DDL of all tables, indexes and views could not be saved: "
                  "manifest.json would have up to {} bytes, and may have {}",
                  with_it, storage::kManifestBytesMax));
}

base::Result<BatchGate::Exclusive> Database::State::stop_for_change(uint64_t asked_ns,
                                                                    const ChangeOptions& change) {
  if (change.timeout_ns == 0) return gate.exclude();
  auto held = gate.exclude_until(asked_ns + std::min(change.timeout_ns, kForeverNs));
  if (held) return held;
  return base::Error(held.code(),
                     "it waited until then for queries, transactions or other changes that go on, "
                     "and nothing was changed (a query can be cancelled, and long_query_ns has it "
                     "make way)");
}

base::Result<void> Database::execute_ddl(std::string_view script, const ChangeOptions& change) {
  const uint64_t asked_ns = base::steady_ns();
  if (auto allowed = state_->check_may_wait("execute_ddl"); !allowed) return allowed;
  if (auto open = state_->check_not_closing(); !open) return open;
  auto statements = olap::split_statements(script);
  if (!statements) return statements.error();
  if (auto recovered = state_->ensure_recovered(); !recovered) return recovered;
  const auto held = state_->stop_for_change(asked_ns, change);
  if (!held) return held.error();
  if (auto open = state_->check_open(*held); !open) return open;
  // Else it could never be saved, and calls would end for it.
  if (auto usable = state_->olap_dispatcher->check_replica(); !usable) return usable;
  if (auto usable = state_->check_log(); !usable) return usable;
  try {
    return state_->apply_script(*held, script, *statements);
  } catch (const std::bad_alloc&) {
    return state_->lose_memory_unlogged(*held);
  }
}

base::Result<void> Database::State::apply_script(const BatchGate::Exclusive& held,
                                                 std::string_view script,
                                                 std::span<const std::string_view> statements) {
  if (log != nullptr) backups.cut_log(held, log.get(), engine.last_vid());
  base::Result<void> outcome;
  olap::ScriptPlace place;
  const char* at = script.data();
  const base::TableId first_new(static_cast<uint32_t>(catalog.table_count()));
  auto effect = DdlEffect::kNone;
  for (size_t i = 0; i < statements.size() && outcome; ++i) {
    const std::string_view statement = statements[i];
    place = olap::place_after({at, statement.data()}, place);
    at = statement.data();
    const std::string text(statement);
    outcome = olap::check_name_lengths(text);
    if (outcome) {
      const auto applied = apply_ddl(held, text, DdlSource::kScript, first_new);
      if (applied) effect = std::max(effect, *applied);
      if (!applied) outcome = applied.error();
    }
    if (!outcome) {
      outcome = olap::error_in_script(outcome.error(), statement, place)
                    .within(fmt::format("statement {} ({})", i + 1, beginning_of(statement)));
    }
  }
  if (effect == DdlEffect::kNone) return outcome;
  catalogs.publish(catalog);
  // What is only new there, the next batch of queries finds.
  if (effect == DdlEffect::kChanges) olap_dispatcher->bring_up_to_date();
  if (log != nullptr) {
    auto saved = save_unlogged(held, effect);
    if (outcome && !saved) outcome = saved.error().within("the DDL");
  }
  return outcome;
}

const base::Catalog& Database::catalog() const {
  return state_->catalogs.current();
}

}  // namespace diptych::dispatcher
