// Module file: what can be said of a shared library of procedures before it is loaded.
//
// Loading a library runs its constructors, and one that was built for another version may well
// crash in them, or fail for a symbol whose name says little. The entry is plain data, so it is
// read from the file (ELF: program headers, dynamic symbols) and compared with this program's.
//
// Any bytes may be given: everything read is checked to lie in the file. Any thread.

#pragma once

#include <string_view>

#include "base/result.h"

namespace diptych::dispatcher {

// The errors of ModuleLibrary::open, without the path.
base::Result<void> check_module_file(std::string_view file);

}  // namespace diptych::dispatcher
