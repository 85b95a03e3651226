# What targets that run schedules use where it is installed. hwloc tells cores from hardware threads.
include(GNUInstallDirs)
if(NOT SKED_STATIC) # its archive wants one of libudev, which Debian has not
  pkg_check_modules(HWLOC QUIET IMPORTED_TARGET hwloc)
endif()
if(HWLOC_FOUND)
  set_property(SOURCE src/target/cores.c src/target/threads.c APPEND PROPERTY COMPILE_DEFINITIONS SKED_WITH_HWLOC)
  list(APPEND SKED_TARGET_LIBRARIES PkgConfig::HWLOC)
endif()

# SimGrid runs in a program of its own (tools/simgrid says why); the library only has to find it.
set_property(SOURCE src/target/simgrid.c APPEND PROPERTY COMPILE_DEFINITIONS
  SKED_LIBEXEC="${CMAKE_INSTALL_FULL_LIBEXECDIR}/sked")
list(APPEND SKED_TARGET_LIBRARIES ${CMAKE_DL_LIBS})
# Only 3.32 was tried; later versions may have changed the calls that start activities.
pkg_check_modules(SIMGRID QUIET IMPORTED_TARGET simgrid>=3.32 simgrid<3.36)
if(SIMGRID_FOUND AND NOT SKED_FUZZ)
  enable_language(CXX)
  add_executable(sked_simgrid tools/simgrid/main.cpp)
  set_target_properties(sked_simgrid PROPERTIES OUTPUT_NAME sked-simgrid CXX_STANDARD 17 CXX_EXTENSIONS ON)
  # Neither sanitizers nor their libraries: SimGrid itself is built without.
  target_compile_options(sked_simgrid PRIVATE -Wall -Wextra -fno-sanitize=all)
  target_link_options(sked_simgrid PRIVATE -fno-sanitize=all)
  target_link_libraries(sked_simgrid PRIVATE PkgConfig::SIMGRID)
  install(TARGETS sked_simgrid RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/sked)
endif()
