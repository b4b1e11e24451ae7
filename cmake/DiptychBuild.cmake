# Compiler settings for every target, and the functions that the folders use.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

set(DIPTYCH_ARCH x86-64-v3 CACHE STRING "The oldest processor that the binary must run on (-march)")
set(DIPTYCH_SANITIZER "" CACHE STRING "address,undefined or thread; empty for none")
option(DIPTYCH_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(DIPTYCH_BENCHMARKS "Build the micro-benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(DIPTYCH_FUZZ "Build the libFuzzer targets (clang): everything is instrumented for them" OFF)
set(DIPTYCH_TESTS_NAMED "" CACHE STRING
  "Build only test sources with a test of such a name (a regular expression); empty for all")
set(DIPTYCH_COLD_OPTIONS "" CACHE STRING
  "Compiler options, after all others, where a slow program costs less than its compilation")
# (g++ 12 at -O1 and -Og takes a std::variant's parts for uninitialised.)
set(DIPTYCH_TEST_OPTIONS "" CACHE STRING "Compiler options, after all others, of the tests' own sources")

find_program(DIPTYCH_CCACHE ccache)
if(DIPTYCH_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${DIPTYCH_CCACHE})
endif()

add_library(diptych_settings INTERFACE)
add_library(diptych::settings ALIAS diptych_settings)
set_target_properties(diptych_settings PROPERTIES EXPORT_NAME settings)
target_include_directories(diptych_settings INTERFACE
  $<BUILD_INTERFACE:${diptych_SOURCE_DIR}> $<INSTALL_INTERFACE:${DIPTYCH_INSTALLED_HEADERS}>)
target_compile_features(diptych_settings INTERFACE cxx_std_20)
set(own_options
  -Wall -Wextra -Wpedantic $<$<BOOL:${PROJECT_IS_TOP_LEVEL}>:-Werror> -Wshadow -Wnon-virtual-dtor -Wconversion
  -Wno-sign-conversion -Wno-missing-field-initializers -fno-omit-frame-pointer
  $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>  # clang's default
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)  # g++ 12 sees overlaps in "text" + std::string (PR 105651)
target_compile_options(diptych_settings INTERFACE -march=${DIPTYCH_ARCH} "$<BUILD_INTERFACE:${own_options}>")
if(DIPTYCH_SANITIZER)
  target_compile_options(diptych_settings INTERFACE -fsanitize=${DIPTYCH_SANITIZER} -fno-sanitize-recover=all)
  target_link_options(diptych_settings INTERFACE -fsanitize=${DIPTYCH_SANITIZER})
endif()
# UBSan's object-size asks the optimiser how large the thing is that a pointer points into: a tenth to a sixth of all
# compilation. AddressSanitizer, in the same build, watches the memory itself; the fuzzers' build has both.
if(DIPTYCH_SANITIZER MATCHES "address,undefined" AND NOT DIPTYCH_FUZZ)
  target_compile_options(diptych_settings INTERFACE -fno-sanitize=object-size)
endif()

if(DIPTYCH_FUZZ)
  target_compile_options(diptych_settings INTERFACE -fsanitize=fuzzer-no-link)
endif()

# In release the linker optimises the program `diptych` across the sources of the libraries that say LINK_TIME: their
# objects have what it needs beside their code. All other programs, tests and benchmarks, link that code as it is.
set(DIPTYCH_LINK_TIME OFF)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(DIPTYCH_LINK_TIME ON)
  target_link_options(diptych_settings INTERFACE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:DIPTYCH_LINK_TIME>>>:-fno-lto>)
endif()
function(diptych_link_time program)
  if(DIPTYCH_LINK_TIME)
    set_target_properties(${program} PROPERTIES DIPTYCH_LINK_TIME ON)
    # (g++ 12 takes an array's size for negative once it sees only the path on which it would be.)
    target_link_options(${program} PRIVATE -flto=auto -Wno-alloc-size-larger-than)
  endif()
endfunction()

# diptych_library(NAME [UNITY count] [LINK_TIME] [ALIGNED] [COLD regex] [LINKS target...]): one static library from
# every .cpp in the calling folder. UNITY: so many sources at a time, where what they include takes longer than they do
# themselves; the sanitizers' presets do so with every library. LINK_TIME: as above. ALIGNED: functions and loops begin
# with a cache line; elsewhere a line more or less in one source moves all code behind it, and took up to a tenth of
# queries that run what lies there. COLD: DIPTYCH_COLD_OPTIONS for the sources whose path in the folder matches; without
# such options they are as all others.
# A header with a source of its name is compiled alone by it, as its first include (a rule of
# tools/check_source.py), unless other sources of a unity come before; the others are by the target
# all_verify_interface_header_sets.
function(diptych_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "LINK_TIME;ALIGNED" "UNITY;COLD" "LINKS")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
  set(lone_headers ${headers})
  foreach(source IN LISTS sources)
    string(REGEX REPLACE "\\.cpp$" ".h" own_header ${source})
    list(REMOVE_ITEM lone_headers ${own_header})
  endforeach()
  list(REMOVE_ITEM headers ${lone_headers})
  if(arg_COLD AND DIPTYCH_COLD_OPTIONS)
    set(cold ${sources})
    list(FILTER cold INCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/(${arg_COLD})")
    list(REMOVE_ITEM sources ${cold})
    add_library(diptych_${name}_cold OBJECT ${cold})
    target_compile_options(diptych_${name}_cold PRIVATE ${DIPTYCH_COLD_OPTIONS})
    target_link_libraries(diptych_${name}_cold PRIVATE diptych_settings ${arg_LINKS})
    list(APPEND sources $<TARGET_OBJECTS:diptych_${name}_cold>)
  endif()
  add_library(diptych_${name} STATIC ${sources})
  add_library(diptych::${name} ALIAS diptych_${name})
  set_target_properties(diptych_${name} PROPERTIES EXPORT_NAME ${name})
  if(arg_UNITY AND NOT CMAKE_UNITY_BUILD)
    set_target_properties(diptych_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${arg_UNITY})
    target_compile_options(diptych_${name} PRIVATE
      $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)  # g++ takes a unity's parts for headers
  endif()
  if(arg_LINK_TIME AND DIPTYCH_LINK_TIME)
    target_compile_options(diptych_${name} PRIVATE -flto -ffat-lto-objects)
  endif()
  if(arg_ALIGNED AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(diptych_${name} PRIVATE -falign-functions=64 -falign-loops=64)
  endif()
  target_sources(diptych_${name} PUBLIC
    FILE_SET HEADERS BASE_DIRS ${diptych_SOURCE_DIR} FILES ${headers}
    FILE_SET lone_headers TYPE HEADERS BASE_DIRS ${diptych_SOURCE_DIR} FILES ${lone_headers})
  set_target_properties(diptych_${name} PROPERTIES
    VERIFY_INTERFACE_HEADER_SETS ON INTERFACE_HEADER_SETS_TO_VERIFY lone_headers)
  target_link_libraries(diptych_${name} PUBLIC diptych_settings ${arg_LINKS})
endfunction()

# diptych_embed(NAME [TABLE] HEADER header FILES name=path...): the texts of files as part of the
# library diptych_NAME, as cmake/embed.cmake says.
function(diptych_embed library)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TABLE" "HEADER" "FILES")
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded.cpp)
  list(TRANSFORM arg_FILES REPLACE "^[^=]*=" "" OUTPUT_VARIABLE paths)
  list(JOIN arg_FILES "|" files)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DLIBRARY=${library} -DTABLE=${arg_TABLE} -DHEADER=${arg_HEADER}
            "-DFILES=${files}" -DOUTPUT=${output} -P ${diptych_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${paths} ${diptych_SOURCE_DIR}/cmake/embed.cmake
    COMMENT "Embedding files in ${library}" VERBATIM)
  target_sources(diptych_${library} PRIVATE ${output})
endfunction()

# diptych_select_tests(LIST): drops from the list of sources each *_test.cpp that names no test of DIPTYCH_TESTS_NAMED,
# and everything if none is left.
function(diptych_select_tests list)
  set(tests "")
  set(others "")
  foreach(source IN LISTS ${list})
    if(NOT source MATCHES "_test\\.cpp$")
      list(APPEND others ${source})
      continue()
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    file(READ ${source} text)
    if(text MATCHES "\n(TEST|TEST_F|TEST_P|INSTANTIATE_TEST_SUITE_P)\\([^)]*(${DIPTYCH_TESTS_NAMED})")
      list(APPEND tests ${source})
    endif()
  endforeach()
  if(tests)
    list(APPEND tests ${others})
  endif()
  set(${list} "${tests}" PARENT_SCOPE)
endfunction()

# diptych_test_sources(TARGET): a program's own sources are those of a test, which run for less time than they take to
# compile: DIPTYCH_TEST_OPTIONS says how much to optimise them, and they are compiled several at a time, which compiles
# what they include once for all of them: in as few parts of at most 25 sources as there can be, and equal ones.
function(diptych_test_sources target)
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  math(EXPR parts "(${count} + 24) / 25")
  math(EXPR batch "(${count} + ${parts} - 1) / ${parts}")
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)  # g++ takes a unity's parts for headers
  target_compile_options(${target} PRIVATE ${DIPTYCH_TEST_OPTIONS})
endfunction()

# diptych_tests(FOLDER [COLD] [LINKS target...]): one googletest program, FOLDER_tests, from every *_test.cpp of
# tests/FOLDER, which the target all_tests builds; ctest knows its tests by the label FOLDER. No program where
# DIPTYCH_TESTS_NAMED leaves no test.
# COLD: the tests drive the engine and compute little themselves, so DIPTYCH_COLD_OPTIONS apply too.
add_custom_target(all_tests)
function(diptych_tests folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COLD" "" "LINKS")
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_bench\\.cpp$|_fuzz\\.cpp$")
  if(DIPTYCH_TESTS_NAMED)
    diptych_select_tests(sources)
  endif()
  if(NOT sources)
    return()
  endif()
  add_executable(${folder}_tests ${sources})
  add_dependencies(all_tests ${folder}_tests)
  diptych_test_sources(${folder}_tests)
  # Without optimisation ThreadSanitizer finds some mutants in two runs of ten, not in each.
  if(arg_COLD AND NOT DIPTYCH_SANITIZER STREQUAL "thread")
    target_compile_options(${folder}_tests PRIVATE ${DIPTYCH_COLD_OPTIONS})
  endif()
  target_link_libraries(${folder}_tests PRIVATE ${arg_LINKS} GTest::gtest GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${folder}_tests DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600 LABELS ${folder})
endfunction()

# diptych_benchmarks(FOLDER [LINKS target...]): one google-benchmark program from every *_bench.cpp of tests/FOLDER,
# which the target all_benchmarks builds, and `all` does not.
add_custom_target(all_benchmarks)
function(diptych_benchmarks folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINKS")
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*_bench.cpp)
  if(NOT sources OR NOT DIPTYCH_BENCHMARKS)
    return()
  endif()
  add_executable(${folder}_bench EXCLUDE_FROM_ALL ${sources})
  add_dependencies(all_benchmarks ${folder}_bench)
  target_link_libraries(${folder}_bench PRIVATE ${arg_LINKS} benchmark::benchmark benchmark::benchmark_main)
endfunction()
