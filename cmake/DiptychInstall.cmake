# `cmake --install`: the program, and the engine's libraries and headers as the package `diptych`, which another
# project's find_package(diptych) finds: the targets diptych::dispatcher and below, and DiptychProcedures.cmake.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# One folder for include paths such as "dispatcher/database.h".
set(DIPTYCH_INSTALLED_HEADERS ${CMAKE_INSTALL_INCLUDEDIR}/diptych)

function(diptych_install)
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/diptych)
  install(TARGETS diptych)
  install(TARGETS diptych_settings diptych_base diptych_storage diptych_propagation diptych_oltp diptych_olap
      diptych_dispatcher
    EXPORT diptych
    FILE_SET HEADERS DESTINATION ${DIPTYCH_INSTALLED_HEADERS}
    FILE_SET lone_headers DESTINATION ${DIPTYCH_INSTALLED_HEADERS})
  install(EXPORT diptych NAMESPACE diptych:: FILE diptych-targets.cmake DESTINATION ${package})
  set(version ${CMAKE_CURRENT_BINARY_DIR}/diptych-config-version.cmake)
  write_basic_package_version_file(${version} COMPATIBILITY SameMinorVersion)
  install(FILES ${version} DESTINATION ${package})
  foreach(file IN ITEMS diptych-config.cmake DiptychDependencies.cmake DiptychProcedures.cmake procedure_host.list
      procedure_module.map)
    install(FILES ${diptych_SOURCE_DIR}/cmake/${file} DESTINATION ${package})
  endforeach()
  install(FILES ${diptych_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
endfunction()
