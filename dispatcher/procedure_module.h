// Procedure module: what a shared library of procedures is written against, and nothing else.
//
//   base::Result<void> define_bank(ProcedureRegistrar& procedures) {
//     auto by_id = procedures.bind_index<&Account::id>("account_pkey");
//     if (!by_id) return by_id.error();
//     procedures.define<AuditArguments, AuditReply>("audit", [by_id = *by_id](...) {...});
//     return {};
//   }
//   constinit const ProcedureModule diptych_procedure_module =
//       procedure_module("bank", &define_bank);
//
// The one symbol that a module exports is the constant of C linkage `diptych_procedure_module`. The
// program reads it from the file before it runs any of the library's code, and refuses what was
// built for another version of this interface (`interface`) or with other headers or another C++
// library (`layout`, `cxx_library`).
//
//   byte   0       8           12      16       24            56     120      128
//          magic   interface   bytes   layout   cxx_library   name   define
//
// The library calls into the program that loads it (CMake: diptych_procedure_host), never the other
// way round but for what it defines. docs/stored-procedures.md teaches all of it.
//
// Threads    define runs on the caller of Database::load_procedures, and again with each DDL on its
//            caller, so that procedures are bound as after a restart; between two batches. It must
//            neither block nor start threads that outlive the module.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "base/row_binding.h"
#include "base/schema.h"
#include "oltp/procedure.h"
#include "oltp/table_ref.h"

namespace diptych::dispatcher {

// What procedures write often.
using oltp::AccessPlan;
using oltp::between;
using oltp::Claimed;
using oltp::Direction;
using oltp::FoundRow;
using oltp::IndexRef;
using oltp::IsolationLevel;
using oltp::KeyRange;
using oltp::Nothing;
using oltp::prefix;
using oltp::ProcedureOptions;
using oltp::RowHandle;
using oltp::ScanOptions;
using oltp::ScanStep;
using oltp::set;
using oltp::TableRef;
using oltp::Transaction;

// To be raised with any change of what modules call or have inlined that `procedure_layout` does
// not see: that of a format within its size (a hash entry's bits, a row's word), or a member moved.
inline constexpr uint32_t kProcedureInterface = 5;

// Binds a module's tables and takes its procedures.
class ProcedureRegistrar {
 public:
  ProcedureRegistrar(const base::Catalog* catalog,
                     std::vector<oltp::ProcedureDefinition>* definitions)
      : catalog_(catalog), definitions_(definitions) {}

  const base::Catalog& catalog() const { return *catalog_; }

  // kNotFound, kInvalidArgument: names the table or index, and the first difference.
  template <base::Described Row>
  base::Result<TableRef<Row>> bind_table(std::string_view name) const {
    auto table = oltp::bind_table<Row>(*catalog_, name);
    bound_.add(table ? table->table.value : oltp::kUnboundTable.value);
    return table;
  }
  template <auto... KeyMembers>
  base::Result<IndexRef<KeyMembers...>> bind_index(std::string_view name) const {
    auto index = oltp::bind_index<KeyMembers...>(*catalog_, name);
    bound_.add(index ? index->index.value : oltp::kUnboundIndex.value);
    return index;
  }
  // Of what was bound, in its order: another one where it was something else.
  uint64_t bound() const { return bound_.value(); }

  // body: base::Result<Reply>(Transaction&, const Arguments&). A name that is taken fails the load.
  template <class Arguments, class Reply, class Body>
  void define(std::string name, Body body, ProcedureOptions<Arguments> options = {}) {
    definitions_->push_back(oltp::define_procedure<Arguments, Reply>(
        std::move(name), std::move(body), std::move(options)));
  }

 private:
  const base::Catalog* catalog_;
  std::vector<oltp::ProcedureDefinition>* definitions_;
  mutable base::Fnv1a bound_;  // binding changes nothing else
};

struct ProcedureModule {
  static constexpr size_t kTextBytes = 64;

  char magic[8];
  uint32_t interface;  // kProcedureInterface of the headers that it was built with
  uint32_t bytes;      // of this struct
  uint64_t layout;
  char cxx_library[32];
  char name[kTextBytes];  // of the module: loading another one of this name replaces it
  base::Result<void> (*define)(ProcedureRegistrar&);
};
static_assert(std::is_trivially_copyable_v<ProcedureModule>, "it is read from a file");

inline constexpr char kProcedureModuleMagic[8] = {'d', 'i', 'p', 't', 'y', 'c', 'h', '\0'};
inline constexpr const char* kProcedureModuleSymbol = "diptych_procedure_module";

namespace detail {
template <size_t kRoom, size_t kBytes>
consteval void put_text(char (&room)[kRoom], const char (&text)[kBytes]) {
  static_assert(kBytes <= kRoom, "the text and its 0 must fit");
  for (size_t i = 0; i < kBytes; ++i) room[i] = text[i];
}
}  // namespace detail

// The C++ library whose types cross the border: std::string, std::function, std::vector.
#ifdef _GLIBCXX_DEBUG
#define DIPTYCH_CXX_LIBRARY_MODE " debug"
#else
#define DIPTYCH_CXX_LIBRARY_MODE ""
#endif
inline constexpr char kCxxLibrary[] = "libstdc++" DIPTYCH_CXX_LIBRARY_MODE
#if _GLIBCXX_USE_CXX11_ABI
                                      ", cxx11 ABI";
#else
                                      ", old ABI";
#endif
#undef DIPTYCH_CXX_LIBRARY_MODE

// Of the types that cross the border or are inlined in a module.
consteval uint64_t procedure_layout() {
  const size_t sizes[] = {
      sizeof(Transaction), alignof(Transaction), sizeof(oltp::ProcedureDefinition),
      sizeof(AccessPlan), sizeof(RowHandle), sizeof(ScanOptions), sizeof(KeyRange),
      sizeof(oltp::RowVisitor), sizeof(oltp::ColumnChoice), sizeof(base::Key),
      sizeof(oltp::WritableRow), sizeof(oltp::TransactionCore::Found), sizeof(base::Catalog),
      sizeof(base::TableSchema), sizeof(base::IndexSchema), sizeof(base::DataType),
      sizeof(base::BoundColumn), sizeof(base::Error), sizeof(base::Text), sizeof(std::string),
      sizeof(oltp::ProcedureDefinition::Body), sizeof(ProcedureRegistrar),
      // What the way to a row reads where one worker runs.
      sizeof(oltp::Table), sizeof(oltp::TableIndex), sizeof(oltp::RowTable),
      sizeof(oltp::HashIndex), sizeof(oltp::RowSlot), sizeof(oltp::Undo)};
  base::Fnv1a hash;
  for (const size_t size : sizes) hash.add(size);
  return hash.value();
}

template <size_t kBytes>
consteval ProcedureModule procedure_module(const char (&name)[kBytes],
                                           base::Result<void> (*define)(ProcedureRegistrar&)) {
  static_assert(kBytes > 1 && kBytes <= ProcedureModule::kTextBytes, "a name of 1 to 63 bytes");
  if (define == nullptr) throw "the function that defines the module's procedures is missing";
  ProcedureModule module{};
  detail::put_text(module.magic, kProcedureModuleMagic);
  module.interface = kProcedureInterface;
  module.bytes = sizeof(ProcedureModule);
  module.layout = procedure_layout();
  detail::put_text(module.cxx_library, kCxxLibrary);
  detail::put_text(module.name, name);
  module.define = define;
  return module;
}

}  // namespace diptych::dispatcher

// Defined by each module; no program has one.
extern "C" [[gnu::visibility(
    "default")]] const diptych::dispatcher::ProcedureModule diptych_procedure_module;
