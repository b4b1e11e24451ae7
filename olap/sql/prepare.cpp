// prepare() of olap/query.h: the stages of the front end in order.

#include "olap/query.h"
#include "olap/sql/plan_builder.h"
#include "olap/sql/select_binder.h"

namespace diptych::olap {
namespace {

std::string_view statement_name(const Node& node) {
  switch (node.node_case) {
    case PG_QUERY__NODE__NODE_INSERT_STMT: return "INSERT";
    case PG_QUERY__NODE__NODE_UPDATE_STMT: return "UPDATE";
    case PG_QUERY__NODE__NODE_DELETE_STMT: return "DELETE";
    case PG_QUERY__NODE__NODE_EXPLAIN_STMT: return "EXPLAIN";
    case PG_QUERY__NODE__NODE_CREATE_STMT:
    case PG_QUERY__NODE__NODE_INDEX_STMT: return "DDL in a query";
    default: return "any statement but SELECT";
  }
}

}  // namespace

base::Result<Plan> prepare(std::string_view sql, const base::Catalog& catalog,
                           const TableRows& table_rows) {
  const SourceText source(sql);
  const auto tree = ParseTree::parse(source);
  if (!tree) return tree.error();
  const Node& statement = tree->statement();
  if (statement.node_case != PG_QUERY__NODE__NODE_SELECT_STMT) {
    const auto start = static_cast<int64_t>(sql.find_first_not_of(" \t\r\n"));
    return source.unsupported(start, statement_name(statement));
  }
  StatementBinding binding{source, catalog, {}, 0, 0};
  auto block =
      SelectBinder(binding, nullptr, nullptr, Correlation::kRefused).bind(*statement.select_stmt);
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
  return plan;
}

}  // namespace diptych::olap
