// A module that does what DIPTYCH_TEST_VARIANT says, so that one library serves many tests.

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "dispatcher/procedure_module.h"

namespace diptych::dispatcher {
namespace {

// Told when a procedure's function object is destroyed, which runs code of this library.
struct Witness {
  Witness() = default;
  Witness(const Witness&) = default;
  ~Witness() { count = count + 1; }
  static volatile int count;
};
volatile int Witness::count = 0;

// As in tests/dispatcher/bank_fixture.h.
struct Account {
  int32_t id;
  base::Decimal<12, 2> balance;
  int64_t version;
};
BOOST_DESCRIBE_STRUCT(Account, (), (id, balance, version))

struct Number {
  int64_t number;
};
BOOST_DESCRIBE_STRUCT(Number, (), (number))
struct Figure {
  int64_t figure;
};
BOOST_DESCRIBE_STRUCT(Figure, (), (figure))
struct Stranger {
  int32_t id;
  base::Decimal<12, 2> credit;
  int64_t version;
};
BOOST_DESCRIBE_STRUCT(Stranger, (), (id, credit, version))

template <class Arguments>
void define_plus(ProcedureRegistrar& procedures, const std::string& name, int64_t addend) {
  procedures.define<Arguments, Number>(
      name, [addend, witness = Witness()](Transaction&, const Arguments& arguments) {
        return base::Result<Number>(Number{reinterpret_cast<const int64_t&>(arguments) + addend});
      });
}

// The account's version goes up by the procedure's.
base::Result<void> define_step(ProcedureRegistrar& procedures, int64_t step) {
  auto by_id = procedures.bind_index<&Account::id>("account_pkey");
  if (!by_id) return by_id.error();
  procedures.define<Number, Number>(
      "step",
      [by_id = *by_id, step](Transaction& txn, const Number& account) -> base::Result<Number> {
        auto row =
            txn.get_for_update<&Account::version>(by_id, static_cast<int32_t>(account.number));
        if (!row) return row.error();
        txn.update(*row, set<&Account::version>(row->values + step));
        return Number{row->values + step};
      },
      {.version = static_cast<uint64_t>(step)});
  return {};
}

// Puts accounts into a table.
base::Result<void> define_put(ProcedureRegistrar& procedures, TableRef<Account> table) {
  procedures.define<Number, Number>(
      "put", [table](Transaction& txn, const Number& account) -> base::Result<Number> {
        auto row = txn.insert(table, Account{static_cast<int32_t>(account.number), {}, 0});
        if (!row) return row.error();
        return account;
      });
  return {};
}

base::Result<void> define(ProcedureRegistrar& procedures) {
  const char* const chosen = std::getenv("DIPTYCH_TEST_VARIANT");
  const std::string variant = chosen != nullptr ? chosen : "";
  if (variant.starts_with("step ")) return define_step(procedures, std::stoll(variant.substr(5)));
  if (variant == "put into the newest") {
    auto table = procedures.bind_table<Account>("account");
    if (auto newer = procedures.bind_table<Account>("newer_account")) table = newer;
    return define_put(procedures, *table);
  }
  if (variant.starts_with("put into ")) {
    auto table = procedures.bind_table<Account>(variant.substr(9));
    if (!table) return table.error();
    return define_put(procedures, *table);
  }
  if (variant == "throws") throw std::runtime_error("no disk in the drive");
  if (variant == "throws a number") throw 7;
  if (variant == "unknown table") return procedures.bind_table<Account>("acount").error();
  if (variant == "unknown index") {
    return procedures.bind_index<&Account::id>("account_by_name").error();
  }
  if (variant == "unknown column") return procedures.bind_table<Stranger>("account").error();
  if (variant == "signature") {
    define_plus<Figure>(procedures, "plus", 3);
    return {};
  }
  if (variant == "own name") {
    define_plus<Number>(procedures, "new", 4);
    define_plus<Number>(procedures, "transfer", 4);
    return {};
  }
  if (variant == "minus alone") {
    define_plus<Number>(procedures, "minus", -2);
    return {};
  }
  define_plus<Number>(procedures, "plus", variant == "second" ? 2 : 1);
  if (variant == "twice") define_plus<Number>(procedures, "plus", 5);
  if (variant != "second") define_plus<Number>(procedures, "minus", -1);
  return {};
}

}  // namespace
}  // namespace diptych::dispatcher

constinit const diptych::dispatcher::ProcedureModule diptych_procedure_module =
    diptych::dispatcher::procedure_module("variants", &diptych::dispatcher::define);
