// Procedures: C++ functions of a transaction and plain arguments, registered by name.
//
// A procedure is deterministic: time and randomness come from the transaction, state from the
// tables. It may be run several times for one call (conflicts); only the last run counts. Arguments
// and reply are trivially copyable structs; a reply has no long strings, which would point into the
// database. Where both are described (Boost.Describe) with cell types (base/types.h), the procedure
// can also be called by name with SQL values.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/row_binding.h"
#include "oltp/access_plan.h"
#include "oltp/cell_precision.h"
#include "oltp/isolation.h"
#include "oltp/transaction.h"

namespace diptych::oltp {

inline constexpr base::ProcedureId kUnboundProcedure{~uint32_t{0}};

// A procedure's typed name, as register_procedure gave it out.
template <class ArgumentsType, class ReplyType>
struct ProcedureRef {
  using Arguments = ArgumentsType;
  using Reply = ReplyType;
  base::ProcedureId id = kUnboundProcedure;
};

struct ProcedureDefinition {
  using Body = std::function<base::Result<void>(Transaction&, std::span<const std::byte> arguments,
                                                std::span<std::byte> reply)>;
  std::string name;
  size_t argument_bytes = 0;
  size_t reply_bytes = 0;
  // Empty where the struct is not described with cells: then not callable by name.
  std::vector<base::BoundColumn> argument_columns;
  std::vector<base::BoundColumn> reply_columns;
  Body body;
  std::function<void(std::span<const std::byte> arguments, AccessPlan&)> access;  // may be empty
  std::function<uint64_t(std::span<const std::byte> arguments)> partition;        // likewise
  std::optional<IsolationLevel> isolation;  // none: the engine's
  uint64_t version = 0;                     // of the body, as it says itself
};

// What a procedure may say of itself beyond its body; nothing of it is needed.
template <class Arguments>
struct ProcedureOptions {
  std::function<void(const Arguments&, AccessPlan&)> access;  // see access_plan.h
  // Requests with the same number belong together: see batch_order.h.
  std::function<uint64_t(const Arguments&)> partition;
  std::optional<IsolationLevel> isolation;  // none: the database's
  // To be raised whenever the body does something else to the tables than before: a log of its
  // calls then says that it cannot be replayed by the new one, before it is tried.
  uint64_t version = 0;
};

struct Nothing {};  // for a procedure without arguments or without a reply

namespace detail {
template <class Struct>
std::vector<base::BoundColumn> cells_of() {
  if constexpr (base::Described<Struct>) {
    return base::bound_columns<Struct>();
  } else {
    return {};
  }
}

// Whether the bytes of some string of it lie elsewhere (base::Text).
template <class Struct>
consteval bool points_elsewhere() {
  if constexpr (base::Described<Struct>) {
    bool found = false;
    boost::mp11::mp_for_each<base::Members<Struct>>([&](auto described) {
      using Cell = typename base::MemberOf<decltype(described)::pointer>::Cell;
      found = found || points_elsewhere<Cell>();
    });
    return found;
  } else if constexpr (requires { base::CellTraits<Struct>::kType; }) {
    return !base::CellTraits<Struct>::kType.is_inline();
  } else {
    return false;
  }
}
// An overlong string would be cut without a word where its bytes are looked at.
inline base::Error beyond_its_type(const std::string& procedure, const char* what,
                                   const char* member) {
  return {base::ErrorCode::kInvalidArgument,
          "procedure \"" + procedure + "\", " + what + " \"" + member +
              "\": the string is longer than its type, or the decimal has more digits"};
}
}  // namespace detail

// body: base::Result<Reply>(Transaction&, const Arguments&). Where these are described, the call is
// aborted with kInvalidArgument if a cell of them is longer, or has more digits, than its type.
template <class Arguments, class Reply, class Body>
ProcedureDefinition define_procedure(std::string name, Body body,
                                     ProcedureOptions<Arguments> options = {}) {
  static_assert(std::is_trivially_copyable_v<Arguments>, "arguments are logged as bytes");
  static_assert(std::is_trivially_copyable_v<Reply>, "a reply is handed over as bytes");
  static_assert(!detail::points_elsewhere<Reply>(),
                "a long string that was read points into the database until the procedure returns; "
                "a reply has strings of at most 64 bytes");
  ProcedureDefinition definition;
  definition.name = std::move(name);
  definition.argument_bytes = sizeof(Arguments);
  definition.reply_bytes = sizeof(Reply);
  definition.argument_columns = detail::cells_of<Arguments>();
  definition.reply_columns = detail::cells_of<Reply>();
  definition.isolation = options.isolation;
  definition.version = options.version;
  definition.body = [body = std::move(body), name = definition.name](
                        Transaction& txn, std::span<const std::byte> arguments,
                        std::span<std::byte> reply) -> base::Result<void> {
    Arguments typed;
    std::memcpy(static_cast<void*>(&typed), arguments.data(), sizeof typed);
    if (const char* const member = detail::member_beyond_its_type(typed)) [[unlikely]] {
      return detail::beyond_its_type(name, "argument", member);
    }
    base::Result<Reply> result = body(txn, typed);
    if (!result) return result.error();
    if (const char* const member = detail::member_beyond_its_type(*result)) [[unlikely]] {
      return detail::beyond_its_type(name, "reply", member);
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
