# Writes OUTPUT: a C++ source with the text of FILES (separated by |), by their path below ROOT.
# cmake -DROOT=... -DFILES=a|b -DOUTPUT=... -P embed.cmake
string(REPLACE "|" ";" files "${FILES}")
list(SORT files)
set(entries "")
foreach(file IN LISTS files)
  file(READ ${ROOT}/${file} text)
  string(APPEND entries "    {\"${file}\", R\"sql(${text})sql\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Made by workloads/embed.cmake.
#include \"workloads/embedded_files.h\"

#pragma GCC diagnostic ignored \"-Woverlength-strings\"

namespace diptych::workloads {

std::span<const EmbeddedFile> embedded_files() {
  static constexpr EmbeddedFile kFiles[] = {
${entries}  };
  return kFiles;
}

}  // namespace diptych::workloads
")
