# crosscut_mpi: an INTERFACE target with the MPI that crosscut-core-mpi is built with; absent when there is none.
#
# find_package(MPI) is not used: under build isolation it leaves a RUNPATH into a temporary folder, and it takes
# whatever mpicxx is first on the PATH. Two ways are supported:
# - the standard ABI of the PyPI package mpich (5 or newer): header and library by their own paths, beside the Python
#   that builds (or beside CROSSCUT_MPICXX). The executables beside it stay free of MPI;
# - a site's MPI: CROSSCUT_MPICXX is its wrapper, and the compiler of the whole build (CMakeLists.txt of the root),
#   so that all of the wrapper's own settings apply. Only crosscut-core-mpi is built.

# The folder with include/ and lib/ of the mpich wheel beside the building Python; empty when there is none.
function(crosscut_find_mpi_abi out)
  if(CROSSCUT_MPICXX)
    get_filename_component(folders "${CROSSCUT_MPICXX}" DIRECTORY)
  else()
    find_package(Python COMPONENTS Interpreter QUIET)
    get_filename_component(folders "${Python_EXECUTABLE}" DIRECTORY)
    if(NOT DEFINED SKBUILD)
      list(APPEND folders "${PROJECT_SOURCE_DIR}/.venv/bin")  # made by `make install`, for the presets
    endif()
  endif()
  set(${out} "" PARENT_SCOPE)
  foreach(folder IN LISTS folders)
    get_filename_component(prefix "${folder}/.." ABSOLUTE)
    if(EXISTS "${prefix}/lib/libmpi_abi.so.1" AND EXISTS "${prefix}/include/mpi_abi.h")
      set(${out} "${prefix}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

function(crosscut_use_mpi_abi prefix)
  target_include_directories(crosscut_mpi SYSTEM INTERFACE "${prefix}/include")
  target_compile_definitions(crosscut_mpi INTERFACE MPI_ABI)
  target_link_libraries(crosscut_mpi INTERFACE "${prefix}/lib/libmpi_abi.so.1")
  # Relative to the scripts folder of the environment that both are installed in.
  set(rpath "$ORIGIN/../lib")
  if(CROSSCUT_MPICXX)
    set(rpath "${prefix}/lib")
  endif()
  set_property(TARGET crosscut_mpi PROPERTY CROSSCUT_INSTALL_RPATH "${rpath}")
  message(STATUS "crosscut-core-mpi: with the MPI ABI of ${prefix}")
endfunction()

if(CROSSCUT_MPI STREQUAL "OFF")
  message(STATUS "crosscut-core-mpi: not built (CROSSCUT_MPI=OFF)")
  return()
endif()

set(mpi_abi_prefix)
if(NOT CROSSCUT_COMPILER_IS_MPI)
  crosscut_find_mpi_abi(mpi_abi_prefix)
  if(NOT mpi_abi_prefix)
    string(CONCAT reason "no MPI found; `pip install 'mpich>=5'` beside the Python that builds (${Python_EXECUTABLE}), or "
                         "-DCROSSCUT_MPICXX=/path/to/mpicxx for a site's MPI")
    if(CROSSCUT_MPI STREQUAL "ON")
      message(FATAL_ERROR "crosscut-core-mpi: ${reason}")
    endif()
    message(STATUS "crosscut-core-mpi: NOT built: ${reason}")
    return()
  endif()
endif()

add_library(crosscut_mpi INTERFACE)
# Without the SKIP definitions, some mpi.h still include the C++ bindings that MPI-3 removed, and need their library.
target_compile_definitions(crosscut_mpi INTERFACE CROSSCUT_HAVE_MPI OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
if(CROSSCUT_COMPILER_IS_MPI)
  include(CheckIncludeFileCXX)
  check_include_file_cxx(mpi.h CROSSCUT_FOUND_MPI_H)
  if(NOT CROSSCUT_FOUND_MPI_H)
    message(FATAL_ERROR "crosscut-core-mpi: ${CROSSCUT_MPICXX} does not find mpi.h, so it is not an MPI compiler wrapper")
  endif()
  message(STATUS "crosscut-core-mpi: with ${CROSSCUT_MPICXX}")
else()
  crosscut_use_mpi_abi("${mpi_abi_prefix}")
endif()
