# crosscut_options: what every translation unit of the core is compiled and linked with.

add_library(crosscut_options INTERFACE)
target_compile_features(crosscut_options INTERFACE cxx_std_20)
set(CMAKE_CXX_EXTENSIONS OFF)
target_compile_definitions(crosscut_options INTERFACE CROSSCUT_VERSION="${CROSSCUT_VERSION}")
# Headers are included with their folder, seen from core/src/ or core/: "base/json.hpp", "networks/rates.hpp".
target_include_directories(crosscut_options INTERFACE "${CMAKE_CURRENT_SOURCE_DIR}/src" "${CMAKE_CURRENT_SOURCE_DIR}")
target_compile_options(crosscut_options INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms in std::string's operator+ at -O2 and above: https://gcc.gnu.org/bugzilla/show_bug.cgi?id=105651
  target_compile_options(crosscut_options INTERFACE -Wno-restrict)
endif()
if(CROSSCUT_WERROR)
  target_compile_options(crosscut_options INTERFACE -Werror)
endif()
string(REPLACE "-O2" "-O3" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
target_link_libraries(crosscut_options INTERFACE Threads::Threads)

if(CROSSCUT_SANITIZE)
  set(sanitizer_flags -fsanitize=${CROSSCUT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(crosscut_options INTERFACE ${sanitizer_flags})
  target_link_options(crosscut_options INTERFACE ${sanitizer_flags})
elseif(CROSSCUT_STATIC_RUNTIME)
  # One binary for login and compute nodes, whatever libstdc++ their images carry.
  target_link_options(crosscut_options INTERFACE -static-libstdc++ -static-libgcc)
endif()
# MPI wrappers name libraries that crosscut does not use (Open MPI: libmpi_cxx, which brings a second libstdc++).
target_link_options(crosscut_options INTERFACE LINKER:--as-needed)
if(CROSSCUT_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "CROSSCUT_FUZZ needs clang (libFuzzer), not ${CMAKE_CXX_COMPILER_ID}: cmake --preset fuzz")
  endif()
  target_compile_options(crosscut_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
