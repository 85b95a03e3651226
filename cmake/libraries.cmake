# What building needs of the system. All that is missing is told at once, with where it comes from.
find_package(Threads REQUIRED)
find_package(PkgConfig)
if(PKG_CONFIG_FOUND)
  pkg_check_modules(PROTOBUFC QUIET IMPORTED_TARGET libprotobuf-c)
  pkg_check_modules(LIBXML2 QUIET IMPORTED_TARGET libxml-2.0)
  pkg_check_modules(CBC QUIET IMPORTED_TARGET cbc)
endif()
find_program(PROTOC_C protoc-c)
find_file(ONNX_PROTO onnx/onnx.proto PATHS /usr/include)

set(SKED_MISSING "")
foreach(needed
    PKG_CONFIG_FOUND:pkg-config PROTOBUFC_FOUND:libprotobuf-c-dev LIBXML2_FOUND:libxml2-dev
    CBC_FOUND:coinor-libcbc-dev PROTOC_C:protobuf-c-compiler ONNX_PROTO:libonnx-dev)
  string(REPLACE ":" ";" needed ${needed})
  list(POP_FRONT needed found)
  if(NOT ${found})
    string(APPEND SKED_MISSING " ${needed}")
  endif()
endforeach()
if(SKED_MISSING)
  message(FATAL_ERROR "sked needs more of this system. On Debian and Ubuntu:\n  sudo apt install${SKED_MISSING}")
endif()
