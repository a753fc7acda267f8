// The memory that the provider shm of libfabric leaves behind, and what of it may be removed.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "backends/fabric/shared_memory.hpp"
#include "tests/check.hpp"

namespace {

namespace files = std::filesystem;

// Returns the id of a process that has ended.
pid_t ended_process() {
  const pid_t process = ::fork();
  if (process == 0) ::_exit(0);
  ::waitpid(process, nullptr, 0);
  return process;
}

TEST(only_memory_of_endpoints_whose_process_is_gone_is_removed) {
  const auto folder = files::temp_directory_path() / ("crosscut-fabric-" + std::to_string(::getpid()));
  files::create_directory(folder);
  const auto gone = std::to_string(ended_process()), alive = std::to_string(::getpid());
  const auto make = [&](const std::string& name) { std::ofstream(folder / name) << "x"; };
  for (const auto& name : {gone + ":0:0", gone + ":1:12", alive + ":0:0", gone, gone + ":0", gone + ":0:0:0",
                           gone + ":0:x", std::string("0:0:0"), "-" + gone + ":0:0"})
    make(name);
  crosscut::backends::fabric::remove_left_behind(folder.string());
  CHECK(!files::exists(folder / (gone + ":0:0")));
  CHECK(!files::exists(folder / (gone + ":1:12")));
  for (const auto& name : {alive + ":0:0", gone, gone + ":0", gone + ":0:0:0", gone + ":0:x",
                           std::string("0:0:0"), "-" + gone + ":0:0"})
    CHECK(files::exists(folder / name));
  files::remove_all(folder);
}

TEST(memory_of_a_killed_process_is_removed_before_its_parent_has_waited_for_it) {
  const auto folder = files::temp_directory_path() / ("crosscut-fabric-z-" + std::to_string(::getpid()));
  files::create_directory(folder);
  const pid_t process = ::fork();
  if (process == 0) ::pause();
  const auto memory = folder / (std::to_string(process) + ":0:0");
  std::ofstream(memory) << "x";
  crosscut::backends::fabric::remove_left_behind(folder.string());
  CHECK(files::exists(memory));
  ::kill(process, SIGKILL);
  siginfo_t ended{};
  ::waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOWAIT);
  crosscut::backends::fabric::remove_left_behind(folder.string());
  CHECK(!files::exists(memory));
  ::waitpid(process, nullptr, 0);
  files::remove_all(folder);
}

TEST(a_missing_folder_is_no_error) { crosscut::backends::fabric::remove_left_behind("/no/such/folder"); }

}  // namespace
