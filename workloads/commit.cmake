# Writes OUTPUT: a C++ source that names the git commit of SOURCE, "-dirty" where tracked files were
# changed, "unknown" outside git. Runs at every build and leaves an unchanged file alone.
set(commit "unknown")
find_package(Git QUIET)
if(Git_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --dirty --abbrev=12 --exclude=*
    WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE described RESULT_VARIABLE failed
    ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT failed)
    set(commit ${described})
  endif()
endif()
set(text "// Made by workloads/commit.cmake.
#include \"workloads/reports/machine.h\"

namespace diptych::workloads {

std::string_view build_commit() { return \"${commit}\"; }

}  // namespace diptych::workloads
")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT "${old}" STREQUAL "${text}")
  file(WRITE ${OUTPUT} "${text}")
endif()
