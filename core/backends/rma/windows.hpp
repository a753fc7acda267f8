// Windows of memory that MPI allocates, each open to all ranks for passive-target access as long as it
// exists.
#pragma once

#include <algorithm>
#include <array>
#include <climits>
#include <exception>
#include <memory>

#include "backends/mpi/library.hpp"
#include "backends/rma/words.hpp"
#include "base/memory.hpp"

namespace crosscut::backends::rma {

// Collective to make and to free. A rank that fails does not free it: others may be gone, and MPI would wait
// for them.
class Window {
 public:
  Window(MPI_Comm comm, std::size_t bytes) : bytes_(bytes) {
    void* base = nullptr;
    mpi::check(MPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, comm, &base, &win_),
               "MPI_Win_allocate");
    mpi::check(MPI_Win_set_errhandler(win_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
    base_ = static_cast<std::byte*>(base);
    std::fill_n(base_, bytes, std::byte{0});  // also has the kernel provide the memory now
    mpi::check(MPI_Win_lock_all(MPI_MODE_NOCHECK, win_), "MPI_Win_lock_all");
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window() {
    if (std::uncaught_exceptions() > 0) return;
    MPI_Win_unlock_all(win_);
    MPI_Win_free(&win_);
  }

  std::span<std::byte> memory() const { return {base_, bytes_}; }
  // True if loads see what others have put without a call of MPI: MPI's unified memory model.
  bool is_unified() const {
    int* model = nullptr;
    int found = 0;
    mpi::check(MPI_Win_get_attr(win_, MPI_WIN_MODEL, static_cast<void*>(&model), &found), "MPI_Win_get_attr");
    return found != 0 && *model == MPI_WIN_UNIFIED;
  }
  // Orders this rank's loads and stores with the accesses of others.
  void sync() const { mpi::check(MPI_Win_sync(win_), "MPI_Win_sync"); }
  // Returns when all that this rank has started towards `peer` is complete there.
  void flush(Rank peer) const { mpi::check(MPI_Win_flush(peer, win_), "MPI_Win_flush"); }
  MPI_Win get() const { return win_; }

 private:
  MPI_Win win_ = MPI_WIN_NULL;
  std::byte* base_ = nullptr;
  std::size_t bytes_;
};

// The windows for messages. All ranks allocate and free in the same order, so a window has the same number on
// all of them.
class MessageWindows {
 public:
  explicit MessageWindows(MPI_Comm comm) : comm_(comm) {}

  Memory allocate(std::size_t bytes) {
    if (bytes > Place::most_bytes)
      throw UsageError("the backend rma has at most 1 TiB in one buffer; lower --size");
    const auto free = std::ranges::find_if(windows_, [](const auto& window) { return !window; });
    if (free == windows_.end()) throw RunError("internal error: too many windows; please report it");
    *free = std::make_unique<Window>(comm_, bytes);
    return {(*free)->memory(), [free] { free->reset(); }};
  }

  Place place_of(const std::byte* data) const {
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      if (!windows_[i]) continue;
      const auto memory = windows_[i]->memory();
      if (data >= memory.data() && data < memory.data() + memory.size())
        return {static_cast<std::uint8_t>(i), static_cast<std::uint64_t>(data - memory.data())};
    }
    throw RunError("internal error: a message outside all windows; please report it");
  }

  const Window& at(Place place) const {
    const auto& window = windows_.at(place.window);
    if (!window) throw RunError("internal error: a message for no window; please report it");
    return *window;
  }

  void put(Rank peer, Place place, const std::byte* data, std::int64_t bytes) const {
    const auto window = at(place).get();
    in_parts(bytes, [&](std::int64_t from, int count) {
      mpi::check(
          MPI_Put(data + from, count, MPI_BYTE, peer, displacement(place, from), count, MPI_BYTE, window),
          "MPI_Put");
    });
  }
  void get(Rank peer, Place place, std::byte* data, std::int64_t bytes) const {
    const auto window = at(place).get();
    in_parts(bytes, [&](std::int64_t from, int count) {
      mpi::check(
          MPI_Get(data + from, count, MPI_BYTE, peer, displacement(place, from), count, MPI_BYTE, window),
          "MPI_Get");
    });
  }

 private:
  static MPI_Aint displacement(Place place, std::int64_t from) {
    return static_cast<MPI_Aint>(place.displacement) + static_cast<MPI_Aint>(from);
  }
  // MPI's counts are of type int.
  static void in_parts(std::int64_t bytes, const auto& move) {
    constexpr std::int64_t most = 1 << 30;
    for (std::int64_t from = 0; from < bytes; from += most)
      move(from, static_cast<int>(std::min(most, bytes - from)));
  }

  MPI_Comm comm_;
  // Send, receive, and receives of a phase kept apart, each of which may be replaced by a larger one.
  std::array<std::unique_ptr<Window>, 4> windows_;
};

}  // namespace crosscut::backends::rma
