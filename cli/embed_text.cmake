# Writes OUTPUT: a C++ source that defines diptych::cli::NAME as the text of INPUT.
# cmake -DINPUT=... -DNAME=... -DOUTPUT=... -P embed_text.cmake
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "// Made by cli/embed_text.cmake.
#include \"cli/html_report.h\"

#pragma GCC diagnostic ignored \"-Woverlength-strings\"

namespace diptych::cli {

constinit const std::string_view ${NAME} = R\"embedded(${text})embedded\";

}  // namespace diptych::cli
")
