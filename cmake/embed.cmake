# Writes OUTPUT: a C++ source with the text of each of FILES (name=path, separated by |), for what
# HEADER declares in diptych::LIBRARY: a std::string_view constant per name, or, with TABLE, the
# entries that embedded_files() gives. Run by diptych_embed (DiptychBuild.cmake).
string(REPLACE "|" ";" files "${FILES}")
set(body "")
foreach(file IN LISTS files)
  string(REGEX MATCH "^([^=]*)=(.*)$" parts "${file}")
  set(name "${CMAKE_MATCH_1}")
  file(READ "${CMAKE_MATCH_2}" text)
  set(literal "R\"embedded(${text})embedded\"")
  if(TABLE)
    string(APPEND body "    {\"${name}\", ${literal}},\n")
  else()
    string(APPEND body "constinit const std::string_view ${name} = ${literal};\n")
  endif()
endforeach()
if(TABLE)
  set(body "std::span<const EmbeddedFile> embedded_files() {
  static constexpr EmbeddedFile kFiles[] = {
${body}  };
  return kFiles;
}
")
endif()
file(WRITE ${OUTPUT} "// Made by cmake/embed.cmake.
#include \"${HEADER}\"

#pragma GCC diagnostic ignored \"-Woverlength-strings\"

namespace diptych::${LIBRARY} {

${body}
}  // namespace diptych::${LIBRARY}
")
