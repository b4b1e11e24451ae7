// prepare() of olap/query.h: the stages of the front end in order.

#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/utf8.h"
#include "olap/plan_report.h"
#include "olap/query.h"
#include "olap/sql/empty_operators.h"
#include "olap/sql/explain.h"
#include "olap/sql/plan_builder.h"
#include "olap/sql/rolled_up_groups.h"
#include "olap/sql/select_binder.h"
#include "olap/sql/shared_blocks.h"

namespace diptych::olap {
namespace {

// An option without a value is on.
bool is_on(const Node* value) {
  if (value == nullptr) return true;
  switch (value->node_case) {
    case PG_QUERY__NODE__NODE_BOOLEAN: return value->boolean->boolval != 0;
    case PG_QUERY__NODE__NODE_INTEGER: return value->integer->ival != 0;
    case PG_QUERY__NODE__NODE_STRING: {
      const std::string_view word = value->string->sval;
      return word == "on" || word == "true" || word == "yes";
    }
    default: return false;
  }
}

// Options that only say how much to show beside the plan, which is always the same here.
bool is_ignored(std::string_view option) {
  return option == "costs" || option == "verbose" || option == "buffers" || option == "timing" ||
         option == "summary";
}

// EXPLAIN [ANALYZE] [VERBOSE], EXPLAIN (ANALYZE [on | off], FORMAT TEXT | JSON, COSTS off, ...).
base::Result<void> read_options(const PgQuery__ExplainStmt& explain, const SourceText& source,
                                Plan* plan) {
  for (size_t i = 0; i < explain.n_options; ++i) {
    const PgQuery__DefElem& option = *explain.options[i]->def_elem;
    const std::string_view name = option.defname;
    const bool has_word =
        option.arg != nullptr && option.arg->node_case == PG_QUERY__NODE__NODE_STRING;
    const std::string_view word = has_word ? option.arg->string->sval : "";
    if (name == "analyze") {
      plan->is_analyzed = is_on(option.arg);
    } else if (name == "format" && (word == "text" || word == "json")) {
      plan->format = word == "json" ? ExplainFormat::kJson : ExplainFormat::kText;
    } else if (!is_ignored(name)) {
      const bool format = name == "format";
      return source.unsupported(
          option.location,
          fmt::format("the option {}{}{} of EXPLAIN", name, format ? " " : "", format ? word : ""));
    }
  }
  return {};
}

// A parameter's value as a part of the text: by type and length, so that none reads as another.
std::string with_parameters(std::string text, std::span<const base::Value> parameters) {
  for (const base::Value& value : parameters) {
    const std::string written = base::to_string(value);
    text += fmt::format("\n{}:{}:{}", value.index(), written.size(), written);
  }
  return text;
}

base::Result<void> check_texts(std::span<const base::Value> parameters) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto* const text = std::get_if<std::string>(&parameters[i]);
    if (text == nullptr) continue;
    const size_t valid = base::valid_utf8_bytes(*text);
    if (valid == text->size()) continue;
    return base::Error(base::ErrorCode::kInvalidArgument, "22021",
                       fmt::format("parameter ${} has a byte at offset {} (0x{:02x}) that is not "
                                   "UTF-8",
                                   i + 1, valid, static_cast<unsigned char>((*text)[valid])));
  }
  return {};
}

// What execute_ddl takes.
bool is_ddl(const Node& statement) {
  return statement.node_case == PG_QUERY__NODE__NODE_CREATE_STMT ||
         statement.node_case == PG_QUERY__NODE__NODE_INDEX_STMT ||
         statement.node_case == PG_QUERY__NODE__NODE_VIEW_STMT ||
         statement.node_case == PG_QUERY__NODE__NODE_TRUNCATE_STMT ||
         (statement.node_case == PG_QUERY__NODE__NODE_DROP_STMT &&
          (statement.drop_stmt->remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_TABLE ||
           statement.drop_stmt->remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_VIEW ||
           statement.drop_stmt->remove_type == PG_QUERY__OBJECT_TYPE__OBJECT_INDEX));
}

base::Result<Plan> plan_of(const SourceText& source, const base::Catalog& catalog,
                           const TableRows& table_rows, std::span<const base::Value> parameters,
                           std::span<const SystemTable> system_tables, PlanningWork* work) {
  if (const auto checked = check_texts(parameters); !checked) return checked.error();
  const auto tree = ParseTree::parse(source);
  if (!tree) return tree.error();
  Plan plan;
  const Node* statement = &tree->statement();
  const bool explained = statement->node_case == PG_QUERY__NODE__NODE_EXPLAIN_STMT;
  if (explained) {
    const PgQuery__ExplainStmt& explain = *statement->explain_stmt;
    if (const auto options = read_options(explain, source, &plan); !options) return options.error();
    statement = explain.query;
  }
  if (statement->node_case != PG_QUERY__NODE__NODE_SELECT_STMT) {
    const auto start = static_cast<int64_t>(source.sql().find_first_not_of(" \t\r\n"));
    if (is_ddl(*statement)) {
      return source.error(base::ErrorCode::kUnsupported, start,
                          "DDL is no query: execute_ddl, or diptych ddl, runs it");
    }
    const std::string_view name = statement_name(*statement);
    return source.unsupported(start, name.empty() ? "any statement but SELECT" : name);
  }
  work->step();
  StatementBinding binding{&source, catalog, SlotTable(work), parameters, system_tables};
  auto block =
      SelectBinder(binding, nullptr, nullptr, Correlation::kRefused).bind(*statement->select_stmt);
  if (!block) return block.error();
  plan.sql = with_parameters(source.sql(), parameters);
  for (size_t i = 0; i < (*block)->visible_outputs; ++i) {
    plan.column_names.push_back((*block)->outputs[i].name);
  }
  const bool is_any_shared = std::any_of(binding.times_bound.begin(), binding.times_bound.end(),
                                         [](const auto& bound) { return bound.second > 1; });
  if (is_any_shared) ask_shared_blocks(**block, *work);
  Estimator estimator(catalog, table_rows, binding.slots);
  PlanBuilder builder(estimator, &binding.slots);
  plan.root = builder.plan_statement(**block).root;
  roll_up_groups(plan.root.get());
  drop_empty_operators(&plan.root);
  DIPTYCH_CHECK(plan.root->output.size() == plan.column_names.size(),
                "the plan's columns are the SELECT list's");
  if (explained) plan.lines = explain_lines(plan, catalog);
  if (explained && !plan.is_analyzed) {
    plan.explanation = plan_report(plan.lines, plan.format, nullptr);
  }
  return plan;
}

}  // namespace

base::Result<Plan> prepare(std::string_view sql, const base::Catalog& catalog,
                           const TableRows& table_rows, std::span<const base::Value> parameters,
                           std::span<const SystemTable> system_tables,
                           const QueryControl* control) {
  const SourceText source(sql);
  PlanningWork work(source, control);
  try {
    return plan_of(source, catalog, table_rows, parameters, system_tables, &work);
  } catch (const PlanningEnd& end) {
    return end.error;
  } catch (const std::bad_alloc&) {
    return base::Error(base::ErrorCode::kOutOfMemory, "there is no memory to plan the statement");
  }
}

}  // namespace diptych::olap
