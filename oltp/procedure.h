// Procedures: C++ functions of a transaction and plain arguments, registered by name.
//
// A procedure is deterministic: it takes time and randomness from the transaction, and state from
// the tables. It may run several times for one call (after conflicts); only the last run counts.
// Arguments and reply are trivially copyable structs. If both are described (Boost.Describe) with
// cell types (base/types.h), the procedure can also be called by name with SQL values.
//
// What a reply's long strings (base::Text) point at is copied when the procedure has returned: long
// strings of rows, arguments, what Transaction::keep has copied; but no local variable of the
// procedure, which is gone by then (reply_texts.h), nor a short string in a row that was read into
// one.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/row_binding.h"
#include "oltp/access_plan.h"
#include "oltp/cell_precision.h"
#include "oltp/isolation.h"
#include "oltp/request.h"
#include "oltp/text_cells.h"
#include "oltp/transaction.h"

namespace diptych::oltp {

// The size of arguments, and of a reply: copies of both lie on the stacks of callers and workers.
inline constexpr size_t kProcedureStructBytesMax = size_t{1} << 20;

namespace detail {
template <class Struct>
consteval uint64_t cells_hash_of() {
  if constexpr (base::consists_of_cells<Struct>()) {
    return base::columns_hash<Struct>();
  } else {
    return base::ColumnsHash().value();
  }
}
// Of a procedure, from those of its arguments and its reply; never 0.
constexpr uint64_t cells_hash(uint64_t arguments, uint64_t reply) {
  return ((arguments * 1099511628211U) ^ reply) | 1;
}
}  // namespace detail

// The typed id of a procedure, which register_procedure returns.
template <class ArgumentsType, class ReplyType>
struct ProcedureRef {
  using Arguments = ArgumentsType;
  using Reply = ReplyType;
  base::ProcedureId id = kUnboundProcedure;

  // Tells procedures of other arguments or replies apart, as far as these are described with cells:
  // the id may be that of another database, where another procedure has it.
  static consteval uint64_t cells_hash() {
    return detail::cells_hash(detail::cells_hash_of<Arguments>(), detail::cells_hash_of<Reply>());
  }
};

struct ProcedureDefinition {
  using Body = std::function<base::Result<void>(Transaction&, std::span<const std::byte> arguments,
                                                std::span<std::byte> reply)>;
  std::string name;
  size_t argument_bytes = 0;
  size_t reply_bytes = 0;
  // Empty if the struct is not described with cells; the procedure then has no call by name, unless
  // there is nothing in the struct.
  std::vector<base::BoundColumn> argument_columns;
  std::vector<base::BoundColumn> reply_columns;
  // An empty struct has a byte nonetheless.
  bool has_empty_arguments = false;
  bool has_empty_reply = false;
  Body body;
  std::function<void(std::span<const std::byte> arguments, AccessPlan&)> access;  // may be empty
  std::function<uint64_t(std::span<const std::byte> arguments)> partition;        // likewise
  std::optional<IsolationLevel> isolation;  // nullopt: the engine's level
  uint64_t version = 0;                     // of the body (ProcedureOptions::version)
  std::vector<TextCell> reply_texts;        // text_cells(reply_columns)
};

// Optional properties of a procedure.
template <class Arguments>
struct ProcedureOptions {
  std::function<void(const Arguments&, AccessPlan&)> access;  // see access_plan.h
  // Requests with the same number belong together (batch_order.h).
  std::function<uint64_t(const Arguments&)> partition;
  std::optional<IsolationLevel> isolation;  // nullopt: the database's level
  // Raise the version whenever the body changes the tables in another way than before. A log with
  // calls of the old body then refuses to be replayed by the new one, before the replay begins.
  uint64_t version = 0;
};

struct Nothing {};  // for a procedure without arguments or without a reply

namespace detail {
template <class Struct>
std::vector<base::BoundColumn> cells_of() {
  if constexpr (base::consists_of_cells<Struct>()) {
    return base::bound_columns<Struct>();
  } else {
    return {};
  }
}

// True if the struct has a string whose bytes lie outside of it (base::Text).
template <class Struct>
consteval bool points_elsewhere() {
  if constexpr (base::Described<Struct>) {
    bool found = false;
    boost::mp11::mp_for_each<base::Members<Struct>>([&](auto described) {
      using Cell = typename base::MemberOf<decltype(described)::pointer>::Cell;
      found = found || points_elsewhere<Cell>();
    });
    return found;
  } else if constexpr (base::detail::kIsCell<Struct>) {
    return !base::CellTraits<Struct>::kType.is_inline();
  } else if constexpr (std::is_array_v<Struct>) {
    return points_elsewhere<std::remove_extent_t<Struct>>();
  } else if constexpr (requires {
                         std::tuple_size<Struct>::value;
                         typename Struct::value_type;
                       }) {
    return points_elsewhere<typename Struct::value_type>();  // std::array
  } else {
    return false;
  }
}
// Arguments are gone with the body, and with them their short strings, which lie in the struct.
template <class Arguments, class Reply>
void keep_texts_of_arguments(const Arguments& arguments, Reply* reply, Transaction* txn) {
  const auto keep = [&](base::Text* text) {
    const auto at = reinterpret_cast<uintptr_t>(text->data);
    const auto first = reinterpret_cast<uintptr_t>(&arguments);
    if (at >= first && at < first + sizeof arguments) *text = txn->keep(text->view());
  };
  boost::mp11::mp_for_each<base::Members<Reply>>([&](auto described) {
    auto& cell = reply->*decltype(described)::pointer;
    if constexpr (requires { keep(&cell); }) {
      keep(&cell);
    } else if constexpr (requires { keep(&cell.value); }) {
      if (!cell.is_null) keep(&cell.value);
    }
  });
}
// The error for an overlong string, which would otherwise be cut silently when its bytes are read.
inline base::Error beyond_its_type(const std::string& procedure, const char* what,
                                   const MemberBeyondItsType& member) {
  return {base::ErrorCode::kInvalidArgument,
          "procedure \"" + procedure + "\", " + what + " \"" + member.name + "\": the " +
              (member.is_string ? "string is longer" : "decimal has more digits") +
              " than its type"};
}
}  // namespace detail

// Defines a procedure with a body base::Result<Reply>(Transaction&, const Arguments&). If these
// structs are described, a cell that is longer or has more digits than its type aborts the call
// with kInvalidArgument.
template <class Arguments, class Reply, class Body>
ProcedureDefinition define_procedure(std::string name, Body body,
                                     ProcedureOptions<Arguments> options = {}) {
  static_assert(std::is_trivially_copyable_v<Arguments>,
                "arguments are logged as bytes: use Varchar or Text for a std::string");
  static_assert(std::is_trivially_copyable_v<Reply>,
                "a reply is handed over as bytes: use Varchar or Text for a std::string");
  static_assert(!detail::points_elsewhere<Arguments>() || base::consists_of_cells<Arguments>(),
                "the log copies what a Text points at only if all members are cells");
  static_assert(!detail::points_elsewhere<Reply>() || base::consists_of_cells<Reply>(),
                "what a Text of a reply points at is copied only if all members are cells");
  ProcedureDefinition definition;
  definition.name = std::move(name);
  definition.argument_bytes = sizeof(Arguments);
  definition.reply_bytes = sizeof(Reply);
  definition.argument_columns = detail::cells_of<Arguments>();
  definition.reply_columns = detail::cells_of<Reply>();
  definition.has_empty_arguments = std::is_empty_v<Arguments>;
  definition.has_empty_reply = std::is_empty_v<Reply>;
  definition.reply_texts = text_cells(definition.reply_columns);
  definition.isolation = options.isolation;
  definition.version = options.version;
  definition.body = [body = std::move(body), name = definition.name](
                        Transaction& txn, std::span<const std::byte> arguments,
                        std::span<std::byte> reply) -> base::Result<void> {
    Arguments typed;
    std::memcpy(static_cast<void*>(&typed), arguments.data(), sizeof typed);
    if (const auto member = detail::member_beyond_its_type(typed); member.name != nullptr)
        [[unlikely]] {
      return detail::beyond_its_type(name, "argument", member);
    }
    base::Result<Reply> result = body(txn, typed);
    if (!result) return result.error();
    if (const auto member = detail::member_beyond_its_type(*result); member.name != nullptr)
        [[unlikely]] {
      return detail::beyond_its_type(name, "reply", member);
    }
    if constexpr (detail::points_elsewhere<Reply>()) {
      detail::keep_texts_of_arguments(typed, &*result, &txn);
    }
    if (!reply.empty()) std::memcpy(reply.data(), &*result, sizeof(Reply));
    return {};
  };
  if (options.access) {
    definition.access = [access = std::move(options.access)](std::span<const std::byte> arguments,
                                                             AccessPlan& plan) {
      Arguments typed;
      std::memcpy(static_cast<void*>(&typed), arguments.data(), sizeof typed);
      access(typed, plan);
    };
  }
  if (options.partition) {
    definition.partition =
        [partition = std::move(options.partition)](std::span<const std::byte> arguments) {
          Arguments typed;
          std::memcpy(static_cast<void*>(&typed), arguments.data(), sizeof typed);
          return partition(typed);
        };
  }
  return definition;
}

}  // namespace diptych::oltp
