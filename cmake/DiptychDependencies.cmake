# What the sources use, and no more. Every dependency is a Debian 12 package; tools/install names
# them.

set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)  # also for a project that has this one as a subdirectory
find_package(Threads REQUIRED)
find_package(TBB REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(numa REQUIRED IMPORTED_TARGET GLOBAL numa)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET GLOBAL libxxhash)
pkg_check_modules(re2 REQUIRED IMPORTED_TARGET GLOBAL re2)
pkg_check_modules(libmd REQUIRED IMPORTED_TARGET GLOBAL libmd)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET GLOBAL libhwy)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET GLOBAL libzstd)
pkg_check_modules(uring REQUIRED IMPORTED_TARGET GLOBAL liburing)

find_path(PG_QUERY_INCLUDE_DIR pg_query.h REQUIRED)
find_library(PG_QUERY_LIBRARY pg_query REQUIRED)
add_library(pg_query INTERFACE)
target_include_directories(pg_query SYSTEM INTERFACE ${PG_QUERY_INCLUDE_DIR})
target_link_libraries(pg_query INTERFACE ${PG_QUERY_LIBRARY})

if(DIPTYCH_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
if(DIPTYCH_BENCHMARKS)
  find_package(benchmark REQUIRED)
  find_package(absl REQUIRED)  # btree_map, the yardstick of tests/oltp/bw_tree_bench.cpp
endif()
