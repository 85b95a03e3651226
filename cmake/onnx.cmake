# C code for the ONNX schema that Debian's libonnx-dev ships, generated at build time.
set(SKED_GENERATED ${CMAKE_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${SKED_GENERATED})
get_filename_component(ONNX_PROTO_DIR ${ONNX_PROTO} DIRECTORY)
add_custom_command(
  OUTPUT ${SKED_GENERATED}/onnx.pb-c.c ${SKED_GENERATED}/onnx.pb-c.h
  COMMAND ${PROTOC_C} --proto_path=${ONNX_PROTO_DIR} --c_out=${SKED_GENERATED} ${ONNX_PROTO}
  DEPENDS ${ONNX_PROTO} VERBATIM)
set(SKED_ONNX_SOURCES ${SKED_GENERATED}/onnx.pb-c.c)
set_source_files_properties(${SKED_ONNX_SOURCES} PROPERTIES COMPILE_OPTIONS "-w")
