# crosscut-smpi-player: the patterns as an MPI program for SimGrid's SMPI, started by smpirun. A module, as smpicxx
# would make, compiled from the part of the core that defines what a rank does. Nothing else is linked with SimGrid.

find_path(CROSSCUT_SIMGRID_INCLUDE smpi/mpi.h)
find_library(CROSSCUT_SIMGRID_LIBRARY simgrid)
if(NOT CROSSCUT_SIMGRID_INCLUDE OR NOT CROSSCUT_SIMGRID_LIBRARY)
  if(CROSSCUT_SMPI STREQUAL "ON")
    message(FATAL_ERROR "crosscut-smpi-player: SimGrid was not found; apt install libsimgrid-dev, or name its folder in "
                        "CMAKE_PREFIX_PATH")
  endif()
  message(STATUS "crosscut-smpi-player: not built: SimGrid was not found (apt install libsimgrid-dev)")
  return()
endif()

file(GLOB player_sources CONFIGURE_DEPENDS smpi/player/*.cpp src/base/*.cpp src/program/param*.cpp src/program/parse*.cpp)
add_library(crosscut-smpi-player MODULE ${player_sources} ${pattern_sources} smpi/smpi_block.cpp src/measure/schedule.cpp
                                        src/program/registry.cpp src/program/in_flight.cpp)
set_target_properties(crosscut-smpi-player PROPERTIES PREFIX "" SUFFIX "" CXX_VISIBILITY_PRESET default)
# Compiled like the core, but not linked like it: a libstdc++ of its own could not throw through SimGrid's frames.
foreach(property COMPILE_OPTIONS COMPILE_DEFINITIONS COMPILE_FEATURES INCLUDE_DIRECTORIES)
  set_property(TARGET crosscut-smpi-player PROPERTY ${property} "$<TARGET_PROPERTY:crosscut_options,INTERFACE_${property}>")
endforeach()
target_compile_features(crosscut-smpi-player PRIVATE cxx_std_20)
target_include_directories(crosscut-smpi-player SYSTEM PRIVATE "${CROSSCUT_SIMGRID_INCLUDE}/smpi" "${CROSSCUT_SIMGRID_INCLUDE}")
target_link_libraries(crosscut-smpi-player PRIVATE "${CROSSCUT_SIMGRID_LIBRARY}")
target_link_options(crosscut-smpi-player PRIVATE LINKER:-z,defs)
install(TARGETS crosscut-smpi-player DESTINATION "${scripts_folder}" COMPONENT core)
message(STATUS "crosscut-smpi-player: with ${CROSSCUT_SIMGRID_LIBRARY}")
