#include "olap/sql/view.h"

#include <algorithm>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/counted.h"
#include "olap/sql/ddl_parts.h"
#include "olap/sql/select_binder.h"

namespace diptych::olap {
namespace {

using base::ViewSchema;

// What binding a view's SELECT finds out, in a ViewSchema without name and text.
base::Result<ViewSchema> bind_select(const SourceText& source, const base::Catalog& catalog,
                                     std::span<const SystemTable> system_tables,
                                     const PgQuery__SelectStmt& select) {
  PlanningWork work(source, nullptr);
  StatementBinding binding{.source = &source,
                           .catalog = catalog,
                           .slots = SlotTable(&work),
                           .parameters = {},
                           .system_tables = system_tables,
                           .is_of_view = true};
  try {
    const auto block = SelectBinder(binding, nullptr, nullptr, Correlation::kRefused).bind(select);
    if (!block) return block.error();
    ViewSchema bound;
    for (size_t i = 0; i < (*block)->visible_outputs; ++i) {
      const OutputColumn& output = (*block)->outputs[i];
      const Slot& slot = binding.slots[output.slot];
      bound.columns.push_back(
          {output.name, slot.type,
           slot.nullable ? base::Nullability::kNullable : base::Nullability::kNotNull});
    }
    bound.uses.assign(binding.uses.begin(), binding.uses.end());
    return bound;
  } catch (const PlanningEnd& end) {
    return end.error;
  } catch (const std::bad_alloc&) {
    return base::Error(base::ErrorCode::kOutOfMemory, "there is no memory to bind the view");
  }
}

base::Result<void> name_columns(const SourceText& source, const PgQuery__ViewStmt& statement,
                                ViewSchema* view) {
  const int64_t place = statement.view->location;
  const NodeList names(statement.aliases, statement.n_aliases);
  if (names.size() > view->columns.size()) {
    return source.wrong(place,
                        fmt::format("view \"{}\" has {}, but {} names are given", view->name,
                                    base::counted(view->columns.size(), "column"), names.size()));
  }
  for (size_t i = 0; i < names.size(); ++i) view->columns[i].name = string_of(names[i]);
  if (view->columns.empty()) {
    return source.wrong(place, fmt::format("view \"{}\" needs a column", view->name), "42P16");
  }
  std::vector<std::string_view> sorted;
  for (const base::ColumnSchema& column : view->columns) sorted.push_back(column.name);
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice == sorted.end()) return {};
  return source.wrong(place, fmt::format("view \"{}\" has two columns \"{}\"", view->name, *twice),
                      "42701");
}

base::Result<void> check_kind(const SourceText& source, const PgQuery__ViewStmt& statement,
                              const ViewWords& words) {
  const PgQuery__RangeVar& name = *statement.view;
  const bool checks = statement.with_check_option > PG_QUERY__VIEW_CHECK_OPTION__NO_CHECK_OPTION;
  if (auto checked = refuse(source, 0,
                            {{std::string_view(name.relpersistence) != "p", "a temporary view"},
                             {words.is_recursive, "a RECURSIVE view"}});
      !checked) {
    return checked;
  }
  if (auto checked = check_table(source, name); !checked) return checked;
  return refuse(source, name.location,
                {{statement.n_options != 0, "WITH of a view"}, {checks, "WITH CHECK OPTION"}});
}

constexpr std::string_view kWhiteSpace = " \t\n\r\f\v";

// The views that use this one are bound again beside it: together they may be beyond a limit.
base::Result<void> check_replaced(const SourceText& source, const base::Catalog& catalog,
                                  std::span<const SystemTable> system_tables, int64_t place,
                                  const ViewSchema& view) {
  base::Catalog then(catalog);
  if (auto replaced = then.replace_view(view); !replaced) {
    const base::Error& error = replaced.error();
    return source.wrong(place, error.message, error.state);
  }
  ParsedViews texts;
  const auto replaced =
      std::ranges::find_if(then.views(), [&](const auto& v) { return v->name == view.name; });
  for (auto user = replaced + 1; user != then.views().end(); ++user) {
    const auto text = texts.find(**user, source.moment());
    const auto bound =
        text ? bind_select((*text)->source, then, system_tables, (*text)->select()) : text.error();
    if (!bound) {
      base::Error error =
          source.error(bound.code(), place,
                       fmt::format("view \"{}\", which uses it, would not go on: {}", (*user)->name,
                                   bound.error().message));
      error.state = bound.error().state;
      return error;
    }
  }
  return {};
}

// The text from there on, without what may end a statement.
std::string query_from(const SourceText& source, size_t offset) {
  std::string_view text = std::string_view(source.sql()).substr(offset);
  text.remove_prefix(std::min(text.find_first_not_of(kWhiteSpace), text.size()));
  return std::string(text.substr(0, text.find_last_not_of("; \t\n\r\f\v") + 1));
}

}  // namespace

base::Result<const ParsedView*> ParsedViews::find(const ViewSchema& view, base::Timestamp moment) {
  std::unique_ptr<ParsedView>& parsed = views_[&view];
  if (parsed == nullptr) {
    SourceText source(view.query, moment);
    auto tree = ParseTree::parse(source, LongNames::kCut);  // as its creation was
    if (!tree) return tree.error();
    parsed = std::make_unique<ParsedView>(std::move(source), *std::move(tree));
  }
  return parsed.get();
}

base::Result<DdlChange> parse_view(const SourceText& source, const base::Catalog& catalog,
                                   std::span<const SystemTable> system_tables,
                                   const PgQuery__ViewStmt& statement) {
  const ViewWords words = words_of_view(source);
  if (auto checked = check_kind(source, statement, words); !checked) return checked.error();
  const int64_t place = statement.view->location;
  const std::string_view name = statement.view->relname;
  const bool replaces = statement.replace != 0;
  if (replaces && catalog.find_table(name) != nullptr) {
    return source.wrong(place, fmt::format("\"{}\" is a table and no view", name), "42809");
  }
  auto view = bind_select(source, catalog, system_tables, *statement.query->select_stmt);
  if (!view) return view.error();
  view->name = name;
  view->query = query_from(source, words.query);
  if (auto named = name_columns(source, statement, &*view); !named) return named.error();
  if (replaces && catalog.find_view(name) != nullptr) {
    if (auto checked = check_replaced(source, catalog, system_tables, place, *view); !checked) {
      return checked.error();
    }
  }
  return DdlChange(
      CreateView{*std::move(view), replaces ? IfViewExists::kReplace : IfViewExists::kFail});
}

}  // namespace diptych::olap
