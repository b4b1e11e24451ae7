// prepare() of olap/query.h: the stages of the front end in order.

#include <sstream>
#include <utility>

#include "olap/query.h"
#include "olap/sql/explain.h"
#include "olap/sql/plan_builder.h"
#include "olap/sql/select_binder.h"

namespace diptych::olap {
namespace {

std::string_view statement_name(const Node& node) {
  switch (node.node_case) {
    case PG_QUERY__NODE__NODE_INSERT_STMT: return "INSERT";
    case PG_QUERY__NODE__NODE_UPDATE_STMT: return "UPDATE";
    case PG_QUERY__NODE__NODE_DELETE_STMT: return "DELETE";
    case PG_QUERY__NODE__NODE_EXPLAIN_STMT: return "EXPLAIN of EXPLAIN";
    case PG_QUERY__NODE__NODE_CREATE_STMT:
    case PG_QUERY__NODE__NODE_INDEX_STMT: return "DDL in a query";
    default: return "any statement but SELECT";
  }
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
  return lines;
}

}  // namespace

base::Result<Plan> prepare(std::string_view sql, const base::Catalog& catalog,
                           const TableRows& table_rows, std::span<const base::Value> parameters,
                           std::span<const SystemTable> system_tables) {
  const SourceText source(sql);
  const auto tree = ParseTree::parse(source);
  if (!tree) return tree.error();
  const Node* statement = &tree->statement();
  const bool explained = statement->node_case == PG_QUERY__NODE__NODE_EXPLAIN_STMT;
  if (explained) {
    const PgQuery__ExplainStmt& explain = *statement->explain_stmt;
    if (explain.n_options != 0) {
      return source.unsupported(explain.options[0]->def_elem->location, "an option of EXPLAIN");
    }
    statement = explain.query;
  }
  if (statement->node_case != PG_QUERY__NODE__NODE_SELECT_STMT) {
    const auto start = static_cast<int64_t>(sql.find_first_not_of(" \t\r\n"));
    return source.unsupported(start, statement_name(*statement));
  }
  StatementBinding binding{source, catalog, {}, parameters, system_tables, 0, 0};
  auto block =
      SelectBinder(binding, nullptr, nullptr, Correlation::kRefused).bind(*statement->select_stmt);
  if (!block) return block.error();
  Plan plan;
  plan.sql = source.sql();
  for (size_t i = 0; i < (*block)->visible_outputs; ++i) {
    plan.column_names.push_back((*block)->outputs[i].name);
  }
  Estimator estimator(catalog, table_rows, binding.slots);
  plan.root = PlanBuilder(estimator).plan_statement(**block).root;
  DIPTYCH_CHECK(plan.root->output.size() == plan.column_names.size(),
                "the plan's columns are the SELECT list's");
  if (explained) plan.explanation = lines_of(explain(plan, catalog));
  return plan;
}

}  // namespace diptych::olap
