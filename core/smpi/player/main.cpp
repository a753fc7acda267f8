// crosscut-smpi-player: crosscut's patterns as an MPI program for SimGrid's SMPI. smpirun starts it; it
// receives requests for blocks of phases on descriptor 0, a socket, and answers there (smpi_block.hpp).
//
// Ranks are actors in one process; one runs at a time. They run without privatisation, so all ranks share the
// static variables here. Requests, samples and message payloads therefore need not be sent between ranks: 256
// ranks with messages of 10 MB take hardly any memory, and only the pattern's own messages are simulated.
#include <mpi.h>
#include <simgrid/barrier.h>
#include <simgrid/version.h>
#include <smpi/smpi.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "program/in_flight.hpp"
#include "program/registry.hpp"
#include "smpi/player/phase_player.hpp"
#include "smpi/smpi_block.hpp"

namespace crosscut::smpi::player {
namespace {

constexpr int conductor_fd = 0;

struct Stage {
  sg_bar_t barrier = nullptr;
  std::optional<SmpiBlock> block;  // empty: end the program
  std::unique_ptr<program::Pattern> pattern;
  std::vector<double> samples;
  std::byte* payload = nullptr;
  std::int64_t payload_bytes = 0;
};

Stage stage;

const SmpiBlock& current_block() {
  if (!stage.block) throw std::logic_error("there is no block to play");
  return *stage.block;
}

void send_all(const void* bytes, std::size_t count) {
  const auto* at = static_cast<const char*>(bytes);
  while (count > 0) {
    const auto sent = ::send(conductor_fd, at, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) throw_errno("answer the core");
    at += sent;
    count -= static_cast<std::size_t>(sent);
  }
}

void send_line(std::string_view first, std::string text = {}) {
  for (auto& character : text)
    if (character == '\n') character = ' ';
  const auto line = std::string(first) + text + "\n";
  send_all(line.data(), line.size());
}

// Reads a line without reading ahead; returns an empty string at end of file. Virtual time stands still while
// rank 0 waits here.
std::string receive_line() {
  std::string line;
  for (char character = 0;;) {
    const auto got = ::read(conductor_fd, &character, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return {};
    if (character == '\n') return line;
    line += character;
  }
}

// Makes room for every message of a phase, before the barrier ahead of it. The pages are shared: SMPI does
// not copy data that lies in them. The previous buffer is kept, since other ranks may still be using it.
void take_payload(const measure::Schedule& schedule) {
  std::int64_t largest = 1;
  for (const auto& op : schedule.ops) largest = std::max(largest, op.bytes);
  if (largest <= stage.payload_bytes) return;
  stage.payload_bytes = std::max(largest, 2 * stage.payload_bytes);
  stage.payload = static_cast<std::byte*>(SMPI_SHARED_MALLOC(static_cast<std::size_t>(stage.payload_bytes)));
}

void prepare(int ranks) {
  const auto& block = current_block();
  const auto& info = program::find_pattern(block.pattern);
  stage.pattern = program::in_flight(
      info.make(program::Parameters(info.parameters, block.parameters, "pattern " + block.pattern)),
      static_cast<std::int32_t>(block.window));
  stage.samples.assign(block.doubles(ranks), std::numeric_limits<double>::quiet_NaN());
  const auto extent = stage.pattern->extent(ranks, block.bytes);
  if (extent.slots > block.slots || block.phase_end > extent.phases)
    throw UsageError("the block is not of this pattern: player and core are of different builds");
}

// Reads requests on rank 0, while the others wait at the barrier, until a block can be played.
void next_block(int ranks) {
  while (true) {
    stage.block.reset();
    const auto line = receive_line();
    if (line.empty()) return;
    try {
      stage.block = parse_block(line);
      prepare(ranks);
      return;
    } catch (const UsageError& error) {
      send_line(smpi_says::usage, error.what());
    } catch (const std::exception& error) {
      send_line(smpi_says::failed, error.what());
    }
  }
}

void answer() {
  send_line(smpi_says::samples);
  send_all(stage.samples.data(), stage.samples.size() * sizeof(double));
}

void play_block(Rank rank, Rank ranks) {
  const auto& block = current_block();
  PhasePlayer player(block.overheads);
  auto samples = std::span(stage.samples).subspan(static_cast<std::size_t>(rank) * block.width());
  for (auto phase = block.phase_first; phase < block.phase_end; ++phase) {
    const auto schedule = measure::make_schedule(*stage.pattern, rank, ranks, block.bytes, phase, {});
    take_payload(schedule);
    // SimGrid's own barrier releases all ranks at the same virtual moment and costs one activity per rank.
    // MPI_Barrier would take network time and release ranks at different moments.
    sg_barrier_wait(stage.barrier);
    auto mine = samples.subspan(
        static_cast<std::size_t>(phase - block.phase_first) * static_cast<std::size_t>(ranks) * block.width(),
        block.width());
    const double seconds = player.play(schedule, stage.payload, mine.subspan(1));
    mine[0] = seconds / static_cast<double>(block.window);
  }
}

int play(Rank rank, Rank ranks) {
  if (stage.barrier == nullptr) stage.barrier = sg_barrier_init(static_cast<unsigned>(ranks));
  if (rank == 0) {
    int major = 0, minor = 0, patch = 0;
    sg_version_get(&major, &minor, &patch);
    send_line(smpi_says::ready, std::to_string(major) + "." + std::to_string(minor));
  }
  while (true) {
    if (rank == 0) next_block(ranks);
    sg_barrier_wait(stage.barrier);
    if (!stage.block) return 0;
    play_block(rank, ranks);
    sg_barrier_wait(stage.barrier);
    if (rank == 0) answer();
  }
}

}  // namespace
}  // namespace crosscut::smpi::player

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1, status = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  try {
    status = crosscut::smpi::player::play(rank, ranks);
  } catch (const crosscut::UsageError& error) {
    crosscut::smpi::player::send_line(crosscut::smpi::smpi_says::usage, error.what());
  } catch (const crosscut::RunError& error) {
    crosscut::smpi::player::send_line(crosscut::smpi::smpi_says::failed, error.what());
  }
  // The other ranks would wait for this one for ever.
  if (status != 0) ::_exit(status);
  MPI_Finalize();
  return status;
}
