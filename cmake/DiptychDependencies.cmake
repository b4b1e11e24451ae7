# What the engine's libraries use, and no more; who links the installed ones needs it too. Every
# dependency is a Debian 12 package; tools/install names them.

find_package(Threads REQUIRED)
find_package(TBB REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(numa REQUIRED IMPORTED_TARGET GLOBAL numa)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET GLOBAL libxxhash)
pkg_check_modules(re2 REQUIRED IMPORTED_TARGET GLOBAL re2)
pkg_check_modules(libmd REQUIRED IMPORTED_TARGET GLOBAL libmd)
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET GLOBAL libutf8proc)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET GLOBAL libhwy)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET GLOBAL libzstd)
pkg_check_modules(uring REQUIRED IMPORTED_TARGET GLOBAL liburing)

find_path(PG_QUERY_INCLUDE_DIR pg_query.h REQUIRED)
find_library(PG_QUERY_LIBRARY pg_query REQUIRED)
add_library(pg_query INTERFACE IMPORTED GLOBAL)
target_include_directories(pg_query SYSTEM INTERFACE ${PG_QUERY_INCLUDE_DIR})
target_link_libraries(pg_query INTERFACE ${PG_QUERY_LIBRARY})
