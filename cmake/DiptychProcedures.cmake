# How a project builds libraries of stored procedures, and programs that load them. Part of the installed package too.

# diptych_procedure_module(NAME SOURCES source... [DEFINITIONS macro=value...]): a shared library of stored
# procedures, NAME.so, for Database::load_procedures. What it needs of the engine comes from the program that
# loads it; it keeps everything else to itself, so that its next version can take its place.
function(diptych_procedure_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEFINITIONS")
  add_library(${name} MODULE ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  target_compile_definitions(${name} PRIVATE ${arg_DEFINITIONS})
  target_link_options(${name} PRIVATE LINKER:--version-script=${CMAKE_CURRENT_FUNCTION_LIST_DIR}/procedure_module.map)
  target_link_libraries(${name} PRIVATE diptych::settings fmt::fmt Boost::headers)
endfunction()

# diptych_procedure_host(TARGET): lets a program load such libraries: it has all of base and oltp, whether it
# needs it itself or not, and shows their symbols to what it loads.
function(diptych_procedure_host target)
  foreach(library diptych::base diptych::oltp)
    add_dependencies(${target} ${library})
    target_link_options(${target} PRIVATE
      LINKER:--whole-archive,$<TARGET_FILE:${library}>,--no-whole-archive)
  endforeach()
  target_link_options(${target} PRIVATE LINKER:--dynamic-list=${CMAKE_CURRENT_FUNCTION_LIST_DIR}/procedure_host.list)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS
    ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/procedure_host.list)
endfunction()
