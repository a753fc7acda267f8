#if defined(CROSSCUT_HAVE_MPI)

#include "backends/mpi/library.hpp"

#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <vector>

namespace crosscut::backends::mpi {

World::World() {
  check(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

World::~World() {
  for (auto& [n, comm] : every_) MPI_Comm_free(&comm);
  MPI_Comm_free(&comm_);
}

MPI_Comm World::every(int n) {
  if (n == 1) return comm_;
  if (const auto known = every_.find(n); known != every_.end()) return known->second;
  int ranks = 0;
  check(MPI_Comm_size(comm_, &ranks), "MPI_Comm_size");
  std::vector<int> taking_part;
  for (int rank = 0; rank < ranks; rank += n) taking_part.push_back(rank);
  MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
  check(MPI_Comm_group(comm_, &all), "MPI_Comm_group");
  check(MPI_Group_incl(all, static_cast<int>(taking_part.size()), taking_part.data(), &some),
        "MPI_Group_incl");
  MPI_Comm made = MPI_COMM_NULL;
  check(MPI_Comm_create_group(comm_, some, 0, &made), "MPI_Comm_create_group");
  every_.emplace(n, made);
  check(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Group_free(&some), "MPI_Group_free");
  check(MPI_Group_free(&all), "MPI_Group_free");
  return made;
}

void World::drain(bool yielding, const session::ControlThread& control) const {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibarrier(comm_, &request), "MPI_Ibarrier");
  for (int done = 0; done == 0;) {
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done == 0 && control.interrupted())
      throw session::ConnectionLost("interrupted while all ranks finished a phase");
    if (yielding && done == 0) ::sched_yield();
  }
}

bool sends_from_cuda() {
#if MPI_VERSION >= 4
  // MPI 4.1, section 11.4.3: the kinds of memory that this job may use.
  MPI_Info info = MPI_INFO_NULL;
  check(MPI_Comm_get_info(MPI_COMM_WORLD, &info), "MPI_Comm_get_info");
  std::array<char, MPI_MAX_INFO_VAL> kinds{};
  int size = static_cast<int>(kinds.size()), found = 0;
  check(MPI_Info_get_string(info, "mpi_memory_alloc_kinds", &size, kinds.data(), &found),
        "MPI_Info_get_string");
  check(MPI_Info_free(&info), "MPI_Info_free");
  if (found != 0 && std::string_view(kinds.data()).find("cuda") != std::string_view::npos) return true;
#endif
  // Before that, Open MPI and MPICH say so by functions of their own.
  if (const auto asked = reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support")))
    return asked() != 0;
  constexpr int cuda = 0;  // MPICH's MPIX_GPU_SUPPORT_CUDA
  int supported = 0;
  if (const auto asked =
          reinterpret_cast<int (*)(int, int*)>(::dlsym(RTLD_DEFAULT, "MPIX_GPU_query_support")))
    check(asked(cuda, &supported), "MPIX_GPU_query_support");
  return supported != 0;
}

json::Object library_facts() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0, major = 0, minor = 0;
  MPI_Get_library_version(text.data(), &length);
  MPI_Get_version(&major, &minor);
  std::string library(text.data(), static_cast<std::size_t>(std::max(0, length)));
  library = library.substr(0, library.find('\n'));
  return {{"library", library}, {"standard", std::to_string(major) + "." + std::to_string(minor)}};
}

}  // namespace crosscut::backends::mpi

#endif
