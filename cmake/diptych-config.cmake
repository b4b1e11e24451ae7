# What find_package(diptych) reads of an installed package.
include(${CMAKE_CURRENT_LIST_DIR}/DiptychDependencies.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/diptych-targets.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/DiptychProcedures.cmake)
