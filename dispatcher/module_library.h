// ModuleLibrary: a shared library of procedures (dispatcher/procedure_module.h), loaded.
//
//   read the file -> check it, without running any of it -> private copy -> dlopen -> module()
//
// The library is loaded from a copy in memory (memfd), so that the file may be overwritten or
// removed while it is in use, and loaded again: the dynamic linker gives out what it has where path
// or inode are the same. For the same reason a copy lives as long as the library, or as the process
// where the linker will not let go of it. Its own dependencies are found as usual, but not by
// $ORIGIN.
//
// Threads    open: any. The destructor runs the library's own destructors: nothing of it may be in
//            use, which is the owner's to see to.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dispatcher/procedure_module.h"

namespace diptych::dispatcher {

class ModuleLibrary {
 public:
  // kNotFound, kIo: the file cannot be read. kInvalidArgument: it is no module, it needs symbols
  // that the program lacks, or it could not be replaced later. kUnsupported: it was built for
  // another version of the interface, with other headers or another C++ library.
  static base::Result<std::unique_ptr<ModuleLibrary>> open(const std::string& path);
  ~ModuleLibrary();
  ModuleLibrary(const ModuleLibrary&) = delete;
  ModuleLibrary& operator=(const ModuleLibrary&) = delete;

  const ProcedureModule& module() const { return *module_; }
  std::string_view name() const { return module_->name; }

 private:
  ModuleLibrary(int descriptor, std::string loaded_path)
      : descriptor_(descriptor), loaded_path_(std::move(loaded_path)) {}

  int descriptor_;  // of the copy
  std::string loaded_path_;
  void* handle_ = nullptr;
  const ProcedureModule* module_ = nullptr;
};

}  // namespace diptych::dispatcher
