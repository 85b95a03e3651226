# make install: command, libraries, header, pkg-config file, CMake package, manual pages, completion, examples.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS sked_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS sked_shared EXPORT sked-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS sked_static EXPORT sked-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(DIRECTORY include/sked DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT sked-targets NAMESPACE sked:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sked)
set_target_properties(sked_shared PROPERTIES EXPORT_NAME sked)

# From the folder of the pkg-config file to the prefix: a libdir may have several parts (lib/x86_64-linux-gnu).
file(RELATIVE_PATH SKED_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" SKED_PC_PREFIX "${SKED_PC_PREFIX}")
string(REPLACE ";" " " SKED_PC_STATIC "${SKED_STATIC_FLAGS}")
configure_file(cmake/sked.pc.in sked.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/sked.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
configure_file(cmake/sked-config.cmake.in sked-config.cmake @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/sked-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/sked-config.cmake ${CMAKE_BINARY_DIR}/sked-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sked)

# The command prints its own manual and completion, so they cannot disagree with it.
# Its table of commands is the only list of them: lines `X(name, "OPERANDS", ...`.
file(STRINGS tools/sked/cli.h SKED_COMMAND_LINES REGEX "^    X\\([a-z]+, \"")
string(REGEX MATCHALL "X\\([a-z]+, \"" SKED_COMMANDS "${SKED_COMMAND_LINES}")
list(TRANSFORM SKED_COMMANDS REPLACE "X\\(([a-z]+).*" "\\1")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS tools/sked/cli.h)
set(SKED_MAN ${CMAKE_BINARY_DIR}/man/sked.1)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/man/sked.1
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/man
  COMMAND sked_tool help --man > ${CMAKE_BINARY_DIR}/man/sked.1 DEPENDS sked_tool)
foreach(command ${SKED_COMMANDS})
  set(page ${CMAKE_BINARY_DIR}/man/sked-${command}.1)
  list(APPEND SKED_MAN ${page})
  add_custom_command(OUTPUT ${page} COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/man
    COMMAND sked_tool help ${command} --man > ${page} DEPENDS sked_tool)
endforeach()
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/sked.bash
  COMMAND sked_tool help --completion > ${CMAKE_BINARY_DIR}/sked.bash DEPENDS sked_tool)
add_custom_target(manual ALL DEPENDS ${SKED_MAN} ${CMAKE_BINARY_DIR}/sked.bash)
install(FILES ${SKED_MAN} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${CMAKE_BINARY_DIR}/sked.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME sked)
