// Calling a procedure by its name, with SQL values: for the command line and for tests.

#include "dispatcher/call_by_name.h"

#include <algorithm>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/counted.h"
#include "base/row_layout.h"
#include "base/utf8.h"
#include "dispatcher/database_state.h"

namespace diptych::dispatcher {
namespace {

using Values = std::vector<base::Value>;

base::Error unfit(const ProcedureSignature& procedure, std::string_view what) {
  return {base::ErrorCode::kInvalidArgument,
          fmt::format("procedure \"{}\": {}", procedure.name, what)};
}

// A struct's cell lies as a table's would: its null byte follows the cell (base/row_layout.h).
base::ColumnLayout layout_of(const base::BoundColumn& column) {
  base::ColumnLayout layout;
  layout.type = column.type;
  layout.offset = column.offset;
  layout.bytes = base::cell_bytes(column.type);
  layout.nullable = column.nullability == base::Nullability::kNullable;
  layout.null_offset = layout.nullable ? column.offset + layout.bytes : 0;
  return layout;
}

// A call in flight: owns all that the request points at. The completion frees it.
struct NamedCall {
  const ProcedureSignature* procedure = nullptr;
  Values values;  // the cells of long strings point at these
  std::vector<std::byte> arguments;
  std::vector<std::byte> reply;
  oltp::Request request;
  std::promise<base::Result<Values>> promise;

  static void finish(oltp::Request* request) {
    const std::unique_ptr<NamedCall> self(static_cast<NamedCall*>(request->context));
    if (!request->outcome) {
      self->promise.set_value(request->outcome.error());
      return;
    }
    Values reply;
    for (const base::BoundColumn& column : self->procedure->reply_columns) {
      reply.push_back(base::load_value(layout_of(column), self->reply.data()));
    }
    self->promise.set_value(std::move(reply));
  }
};

base::Result<std::unique_ptr<NamedCall>> make_call(const ProcedureSignature& procedure,
                                                   std::span<const base::Value> arguments) {
  const auto& columns = procedure.argument_columns;
  if (arguments.size() != columns.size()) {
    return unfit(procedure,
                 fmt::format("takes {}, got {}", base::counted(columns.size(), "argument"),
                             arguments.size()));
  }
  auto call = std::make_unique<NamedCall>();
  call->procedure = &procedure;
  call->values.assign(arguments.begin(), arguments.end());
  call->arguments.resize(procedure.argument_bytes);
  call->reply.resize(procedure.reply_bytes);
  for (size_t i = 0; i < columns.size(); ++i) {
    if (base::is_null(call->values[i]) && columns[i].nullability == base::Nullability::kNotNull) {
      return unfit(procedure, fmt::format("argument {} \"{}\" is NULL, but it is a {} NOT NULL",
                                          i + 1, columns[i].name, columns[i].type.to_string()));
    }
    // A converted value must live as long as the cell that may point at it.
    if (!base::is_null(call->values[i])) {
      auto converted = base::convert_value(columns[i].type, call->values[i]);
      if (!converted) {
        return unfit(procedure, fmt::format("argument {} \"{}\": {}", i + 1, columns[i].name,
                                            converted.error().message));
      }
      call->values[i] = std::move(*converted);
      const auto* const text = std::get_if<std::string>(&call->values[i]);
      if (text != nullptr && !base::is_valid_utf8(*text)) {
        return unfit(procedure, fmt::format("argument {} \"{}\": the text is not valid UTF-8",
                                            i + 1, columns[i].name));
      }
    }
    auto stored = base::store_value(layout_of(columns[i]), call->values[i], call->arguments.data());
    if (!stored) {
      return unfit(procedure, fmt::format("argument {} \"{}\": {}", i + 1, columns[i].name,
                                          stored.error().to_string()));
    }
  }
  call->request.procedure = procedure.id;
  call->request.arguments = call->arguments;
  call->request.reply = call->reply;
  call->request.context = call.get();
  call->request.complete = &NamedCall::finish;
  return call;
}

}  // namespace

base::Result<void> check_callable(const ProcedureSignature& procedure) {
  const auto is_unknown = [](const std::vector<base::BoundColumn>& cells, size_t bytes,
                             bool is_empty) { return cells.empty() && bytes > 0 && !is_empty; };
  if (is_unknown(procedure.argument_columns, procedure.argument_bytes,
                 procedure.has_empty_arguments)) {
    return unfit(procedure, "cannot be called by name: its arguments are not described");
  }
  if (is_unknown(procedure.reply_columns, procedure.reply_bytes, procedure.has_empty_reply)) {
    return unfit(procedure, "cannot be called by name: its reply is not described");
  }
  return {};
}

base::Result<Values> Database::State::call_by_name(CallQueue* queue, std::string_view procedure,
                                                   std::span<const base::Value> arguments,
                                                   const CallOptions& how) {
  if (auto allowed = check_may_wait("call_by_name"); !allowed) return allowed.error();
  if (auto ready = recovered_for_call(); !ready) return ready.error();
  const ProcedureSignature* signature = procedures.find(procedure);
  if (signature == nullptr) {
    return base::Error(base::ErrorCode::kNotFound, fmt::format("no procedure \"{}\"", procedure));
  }
  if (auto callable = check_callable(*signature); !callable) return callable.error();
  auto call = make_call(*signature, arguments);
  if (!call) return call.error();
  std::future<base::Result<Values>> future = (*call)->promise.get_future();
  if (auto submitted = submit(&(*call)->request, queue, how); !submitted) {
    return submitted.error();
  }
  static_cast<void>(call->release());  // finish() takes it back
  return future.get();
}

base::Result<Values> Database::call_by_name(std::string_view procedure,
                                            std::span<const base::Value> arguments,
                                            const CallOptions& options) {
  return state_->call_by_name(state_->oltp_dispatcher->queues().of(options.priority), procedure,
                              arguments, options);
}

}  // namespace diptych::dispatcher
