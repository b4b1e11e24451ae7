#include "dispatcher/module_file.h"

#include <cstring>
#include <optional>
#include <span>
#include <string>

#include <elf.h>
#include <fmt/format.h>

#include "dispatcher/procedure_module.h"

namespace diptych::dispatcher {
namespace {

base::Error wrong(std::string text) {
  return {base::ErrorCode::kInvalidArgument, std::move(text)};
}

template <class Struct>
std::optional<Struct> read_at(std::string_view file, uint64_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(Struct)) return std::nullopt;
  Struct read;
  std::memcpy(&read, file.data() + offset, sizeof read);
  return read;
}

std::string_view text_at(std::string_view file, uint64_t offset) {
  if (offset >= file.size()) return {};
  const std::string_view rest = file.substr(offset);
  const size_t end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

bool is_shared_library(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
         header.e_type == ET_DYN && header.e_machine == EM_X86_64;
}

struct Symbols {
  std::optional<Elf64_Sym> entry;
  std::string_view unique;  // the name of one that outlives dlclose; empty: none
  // What it takes from outside: operator new, or only what that is made of.
  bool operator_new = false;
  bool malloc = false;
};

std::optional<Symbols> read_symbols(std::string_view file, const Elf64_Ehdr& header) {
  Symbols symbols;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto section = read_at<Elf64_Shdr>(file, header.e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return std::nullopt;
    if (section->sh_type != SHT_DYNSYM) continue;
    const auto names =
        read_at<Elf64_Shdr>(file, header.e_shoff + section->sh_link * sizeof(Elf64_Shdr));
    if (!names) return std::nullopt;
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= section->sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = read_at<Elf64_Sym>(file, section->sh_offset + at);
      if (!symbol) return std::nullopt;
      const std::string_view name = text_at(file, names->sh_offset + symbol->st_name);
      if (symbol->st_shndx == SHN_UNDEF) {
        symbols.operator_new |= name == "_Znwm";
        symbols.malloc |= name == "malloc";
        continue;
      }
      if (name == kProcedureModuleSymbol) symbols.entry = symbol;
      if (ELF64_ST_BIND(symbol->st_info) == STB_GNU_UNIQUE) symbols.unique = name;
    }
  }
  return symbols;
}

// The bytes at an address of the loaded library, as the file has them.
template <class Struct>
std::optional<Struct> read_loaded(std::string_view file, const Elf64_Ehdr& header,
                                  uint64_t address) {
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = read_at<Elf64_Phdr>(file, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return std::nullopt;
    if (segment->p_type != PT_LOAD || address < segment->p_vaddr) continue;
    const uint64_t inside = address - segment->p_vaddr;
    if (inside >= segment->p_filesz || segment->p_filesz - inside < sizeof(Struct)) continue;
    return read_at<Struct>(file, segment->p_offset + inside);
  }
  return std::nullopt;
}

std::string_view text_in(std::span<const char> room) {
  return {room.data(), strnlen(room.data(), room.size())};
}

// The beginning of a ProcedureModule, which is the same in each version.
struct ModuleHead {
  char magic[8];
  uint32_t interface;
};

base::Result<void> check_head(const ModuleHead& head) {
  if (std::memcmp(head.magic, kProcedureModuleMagic, sizeof head.magic) != 0) {
    return wrong(
        fmt::format("its {} is not what procedure_module() gives", kProcedureModuleSymbol));
  }
  if (head.interface == kProcedureInterface) return {};
  return base::Error(
      base::ErrorCode::kUnsupported,
      fmt::format("it was built for version {} of the procedure interface, this program has "
                  "version {}: build it again with this program's headers",
                  head.interface, kProcedureInterface));
}

base::Result<void> check_module(const ProcedureModule& module) {
  const std::string_view library = text_in(module.cxx_library);
  if (library != kCxxLibrary) {
    return base::Error(base::ErrorCode::kUnsupported,
                       fmt::format("it was built with another C++ library ({}) than this program "
                                   "({})",
                                   library, kCxxLibrary));
  }
  if (module.layout != procedure_layout() || module.bytes != sizeof(ProcedureModule)) {
    return base::Error(base::ErrorCode::kUnsupported,
                       fmt::format("it was built with headers of another layout ({:016x}) than "
                                   "this program ({:016x}): build it again with this program's",
                                   module.layout, procedure_layout()));
  }
  const std::string_view name = text_in(module.name);
  if (name.empty() || name.size() == sizeof module.name) return wrong("the module has no name");
  return {};
}

}  // namespace

base::Result<void> check_module_file(std::string_view file) {
  const auto header = read_at<Elf64_Ehdr>(file, 0);
  if (!header || !is_shared_library(*header)) {
    return wrong("it is not a shared library for this machine (ELF, x86-64)");
  }
  const auto symbols = read_symbols(file, *header);
  if (!symbols) return wrong("it is cut off or damaged: its symbols lie beyond its end");
  if (!symbols->entry) {
    return wrong(
        fmt::format("it has no symbol {}, so it is not a module of procedures (see "
                    "docs/stored-procedures.md)",
                    kProcedureModuleSymbol));
  }
  const auto head = read_loaded<ModuleHead>(file, *header, symbols->entry->st_value);
  if (!head) return wrong(fmt::format("its {} is too short", kProcedureModuleSymbol));
  if (auto checked = check_head(*head); !checked) return checked;
  const auto module = read_loaded<ProcedureModule>(file, *header, symbols->entry->st_value);
  if (!module) return wrong(fmt::format("its {} is too short", kProcedureModuleSymbol));
  if (auto checked = check_module(*module); !checked) return checked;
  // Its procedures are defined with operator new. What they throw would meet another library's
  // code, and end the process.
  if (symbols->malloc && !symbols->operator_new) {
    return base::Error(base::ErrorCode::kUnsupported,
                       "it has a C++ library of its own: link it without -static-libstdc++");
  }
  if (!symbols->unique.empty()) {
    return wrong(
        fmt::format("its symbol {} is unique in the process, so it could never be replaced: "
                    "compile it with -fno-gnu-unique",
                    symbols->unique));
  }
  return {};
}

}  // namespace diptych::dispatcher
