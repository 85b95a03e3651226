# Files as C arrays. Included: sked_embed(OUT name FILES...) makes OUT, a C file that defines
# `const char sked_i_embed_<name>[]` (0-terminated) with the files one after another. The same file run as a
# script (cmake -P) does the writing, so that no other program is needed.
if(CMAKE_SCRIPT_MODE_FILE)
  set(hex "")
  string(REPLACE "|" ";" files "${SKED_EMBED_FILES}")
  foreach(file ${files})
    file(READ ${file} part HEX)
    string(APPEND hex "${part}")
  endforeach()
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
  file(WRITE ${SKED_EMBED_OUT} "/* Made by cmake/embed.cmake. */
extern const char sked_i_embed_${SKED_EMBED_NAME}[];
const char sked_i_embed_${SKED_EMBED_NAME}[] = {
${bytes}0};
extern const unsigned long sked_i_embed_${SKED_EMBED_NAME}_size; /* without the 0 */
const unsigned long sked_i_embed_${SKED_EMBED_NAME}_size = sizeof sked_i_embed_${SKED_EMBED_NAME} - 1;
")
  return()
endif()

set(SKED_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
function(sked_embed out name)
  string(REPLACE ";" "|" files "${ARGN}")
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DSKED_EMBED_OUT=${out} -DSKED_EMBED_NAME=${name} "-DSKED_EMBED_FILES=${files}" -P ${SKED_EMBED_SCRIPT}
    DEPENDS ${ARGN} ${SKED_EMBED_SCRIPT} VERBATIM)
endfunction()

# The report page. Scripts in the order they run.
set(SKED_PAGE ${CMAKE_SOURCE_DIR}/src/report/page)
set(SKED_EMBED_SOURCES "")
foreach(part "page;page.html" "style;style.css" "script;core.js;model.js;timeline.js;gantt.js;curves.js;arena.js;schedule.js;plot.js;robust.js;loop.js;tradeoff.js;pipeline.js;progress.js;main.js")
  list(POP_FRONT part name)
  list(TRANSFORM part PREPEND ${SKED_PAGE}/)
  sked_embed(${CMAKE_BINARY_DIR}/generated/embed_${name}.c ${name} ${part})
  list(APPEND SKED_EMBED_SOURCES ${CMAKE_BINARY_DIR}/generated/embed_${name}.c)
endforeach()

# The model in the box.
sked_embed(${CMAKE_BINARY_DIR}/generated/embed_model.c model ${CMAKE_SOURCE_DIR}/models/gflownet.safetensors)
list(APPEND SKED_EMBED_SOURCES ${CMAKE_BINARY_DIR}/generated/embed_model.c)
