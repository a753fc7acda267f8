# The .def files are read twice: by the compiler (registry.cpp) and here, so that one line registers a file.

# Sources named by lines `MACRO(id)` or `MACRO(id, ...)` of DIRECTORY/DEF: DIRECTORY/id.cpp with DIRECTORY/id_*.cpp (a
# part that is registered itself is listed once), or all of the folder DIRECTORY/id.
function(crosscut_registered out directory def macro)
  set(def_path "${CMAKE_CURRENT_SOURCE_DIR}/${directory}/${def}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${def_path}")
  file(STRINGS "${def_path}" lines REGEX "^[ \t]*${macro}\\(")
  set(sources)
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "${macro}\\([ \t]*([A-Za-z0-9_]+)")
      message(FATAL_ERROR "${def_path}: cannot read `${line}`; write `${macro}(id)`")
    endif()
    set(id ${CMAKE_MATCH_1})
    set(source "${directory}/${id}")
    file(GLOB found RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS
         "${source}.cpp" "${source}_*.cpp" "${source}/*.cpp")
    if(NOT found)
      message(FATAL_ERROR "${def_path} registers `${id}`, but there is neither core/${source}.cpp nor core/${source}/")
    endif()
    list(APPEND sources ${found})
  endforeach()
  list(REMOVE_DUPLICATES sources)
  set(${out} "${sources}" PARENT_SCOPE)
endfunction()
