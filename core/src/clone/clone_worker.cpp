#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/error.hpp"
#include "base/sha256.hpp"
#include "base/words.hpp"
#include "clone/chunk_stream.hpp"
#include "clone/clone_messages.hpp"
#include "clone/clone_rank.hpp"
#include "clone/neighbour.hpp"
#include "clone/target.hpp"
#include "measure/machine.hpp"
#include "session/control_thread.hpp"
#include "session/join.hpp"
#include "session/messages.hpp"

namespace crosscut::clone {
namespace {

constexpr double telling_seconds = 0.4;
// Limit on the progress reports of all ranks together to the conductor.
constexpr double tellings_per_second = 1000;
// Time limit for one attempt. A node without power does not answer, and meanwhile a new chain may bypass it.
constexpr double connecting_seconds = 3;
constexpr double accepting_seconds = 0.1;

// True if the range was never written, so that it has nothing to keep; false if the file system cannot tell.
bool is_hole(const Image& image, std::int64_t offset, std::int64_t bytes) {
  const off_t data = ::lseek(image.fd(), offset, SEEK_DATA);
  return data < 0 ? errno == ENXIO : data >= offset + bytes;
}

// Returns the rank `step` places further down the chain; -1 if there is none or `self` is not in the chain.
Rank neighbour(const std::vector<Rank>& living, Rank self, std::ptrdiff_t step) {
  const auto here = std::ranges::find(living, self);
  if (here == living.end()) return -1;
  const auto at = here - living.begin() + step;
  return at < 0 || at >= std::ssize(living) ? -1 : living[static_cast<std::size_t>(at)];
}

// A rank at work in the chain. It carries out the conductor's orders and owns the threads that receive, send
// and read.
class CloneWorker {
 public:
  CloneWorker(const session::RankSetup& setup, session::Membership member)
      : setup_(setup),
        interfaces_(member.interfaces),
        control_thread_(std::move(member.control), std::move(member.acceptors), setup.silence_seconds()) {
    if (setup_.host.empty()) setup_.host = measure::host_name();
  }

  void serve() {
    while (true) {
      const session::Frame frame = control_thread_.next();
      if (frame.type == session::FrameType::end) return;
      try {
        handle(frame);
      } catch (const UsageError& error) {
        refuse(error.what(), true);
      } catch (const std::exception& error) {
        refuse(error.what(), false);
      }
    }
  }

 private:
  void answer(session::FrameType type, const json::Value& words) {
    control_thread_.send(type, session::pack(json::write(words)));
  }

  // Sends a frame from a thread without a caller to throw to. serve() notices if the connection is lost.
  void tell(session::FrameType type, std::span<const std::byte> payload) {
    try {
      if (!control_thread_.interrupted()) control_thread_.send(type, payload);
    } catch (const session::ConnectionLost&) {
    }
  }

  void refuse(const std::string& why, bool usage) {
    tell(session::FrameType::refused, session::pack(session::Refusal{usage, why}));
  }

  void handle(const session::Frame& frame) {
    switch (frame.type) {
      case session::FrameType::welcome:
        return meet(frame);
      case session::FrameType::job:
        return prepare(parse_clone_job(session::unpack_json(frame)));
      case session::FrameType::run:
        return take_place(parse_chain(session::unpack_json(frame)));
      case session::FrameType::end_job:
        return commit();
      default:
        throw RunError(
            "the conductor sent a message that this version does not know; install the same version of "
            "crosscut on every node");
    }
  }

  void meet(const session::Frame& frame) {
    addresses_ = session::unpack<session::Welcome>(frame.payload).listeners;
  }

  void prepare(const CloneJob& job) {
    Prepared prepared;
    if (setup_.rank == 0) {
      source_.emplace(open_source(job.source));
      source_status_ = status_of(source_->image);
      prepared.bytes = source_->image.bytes();
      prepared.permissions = source_->permissions;
      prepared.path = job.source;
      prepared.identity = identity_of(source_status_);
      if (S_ISBLK(source_status_.st_mode)) note_device(describe_device(source_status_.st_rdev), prepared);
      prepared.warning = source_->warning;
      const std::int64_t chunk_bytes =
          job.chunk_bytes > 0 ? job.chunk_bytes : choose_chunk_bytes(prepared.bytes);
      check_chunks(prepared.bytes, chunk_bytes);  // before the list of chunks takes memory
      map_ = std::make_unique<ChunkMap>(prepared.bytes, chunk_bytes, ChunkMap::Owner::source);
    } else {
      prepare_target(job, prepared);
    }
    const ChunkStore& store = store_.emplace(ChunkStore{*map_, image(), [this] { moved(); }});
    if (target_) checksum_present_content(store);
    answer(session::FrameType::ready, to_json(prepared));
  }

  void prepare_target(const CloneJob& job, Prepared& prepared) {
    target_ = std::make_unique<Target>(job, expand_path(job.target, setup_.rank, setup_.host));
    map_ = std::make_unique<ChunkMap>(job.bytes, job.chunk_bytes, ChunkMap::Owner::target);
    prepared.path = target_->path();
    prepared.identity = target_->identity();
    prepared.place = target_->place_identity();
    if (target_->device()) note_device(*target_->device(), prepared);
  }

  static void note_device(const Device& device, Prepared& prepared) {
    prepared.device = device.words;
    prepared.device_id = device.id;
    prepared.disk = device.disk;
    prepared.is_whole_disk = device.is_whole;
  }

  void checksum_present_content(const ChunkStore& store) {
    const Memory memory = chunk_memory(*map_);
    for (Chunk chunk = 0; chunk < map_->chunks(); ++chunk) {
      if (map_->offset(chunk) + map_->size(chunk) > target_->resumable_bytes()) return;
      if (control_thread_.interrupted()) throw RunError("stopped");
      if (!is_hole(image(), map_->offset(chunk), map_->size(chunk)))
        map_->note(chunk, read_chunk(store, chunk, memory.span()));
      ++control_thread_.progress();
    }
  }

  void take_place(const Chain& chain) {
    if (!store_) throw RunError("asked to copy without a job");
    if (!has_begun_) begin();
    const Rank before = neighbour(chain.living, setup_.rank, -1),
               behind = neighbour(chain.living, setup_.rank, +1);
    // An unchanged neighbour keeps its connections. Both ends receive every chain, so they agree on the epoch
    // in which they became neighbours.
    if (before != before_) {
      upstream_.reset();
      before_ = before;
      if (before >= 0) upstream_ = std::make_unique<Neighbour>(rails(), receiving_from(before, chain.epoch));
    }
    if (behind != behind_) {
      downstream_.reset();
      behind_ = behind;
      if (behind >= 0) downstream_ = std::make_unique<Neighbour>(rails(), sending_to(behind, chain.epoch));
    }
  }

  void begin() {
    has_begun_ = true;
    if (target_) target_->begin();
    reader_ = std::jthread([this](const std::stop_token& stop) {
      try {
        read_all(stop);
      } catch (const std::exception& error) {
        if (!stop.stop_requested()) refuse(error.what(), false);
      }
    });
  }

  RailConnection connection(int fd, std::int32_t rail) const {
    return {.fd = fd, .rail = rail, .rails = rails(), .patience_seconds = 2 * setup_.timeout_seconds};
  }

  Neighbour::Work reporting_work(Rank peer, decltype(Neighbour::Work::open) open,
                                 decltype(Neighbour::Work::run) run) {
    return {.open = std::move(open),
            .run = std::move(run),
            .lost =
                [this, peer](const std::string& why) {
                  tell(session::FrameType::complaint, session::pack(session::Complaint{peer, why}));
                },
            .failed = [this](const std::string& why) { refuse(why, false); }};
  }

  Neighbour::Work receiving_from(Rank before, std::uint32_t epoch) {
    const auto open = [this, before, epoch](std::int32_t rail, const std::stop_token& stop) {
      const session::Hello wanted{session::Purpose::data, before, epoch, 0, static_cast<std::uint16_t>(rail)};
      while (true) {
        try {
          return control_thread_.accepted(wanted, after_seconds(accepting_seconds));
        } catch (const session::ConnectionLost&) {
          if (stop.stop_requested() || control_thread_.interrupted()) throw;
        }
      }
    };
    const auto run = [this](int fd, std::int32_t rail, const std::stop_token&) {
      receive_chunks(*store_, connection(fd, rail));
    };
    return reporting_work(before, open, run);
  }

  Neighbour::Work sending_to(Rank behind, std::uint32_t epoch) {
    const auto open = [this, behind, epoch](std::int32_t rail, const std::stop_token& stop) {
      return connect_to_rank(behind, rail, epoch, stop);
    };
    const auto run = [this](int fd, std::int32_t rail, const std::stop_token& stop) {
      send_chunks(*store_, connection(fd, rail), stop);
    };
    return reporting_work(behind, open, run);
  }

  Fd connect_to_rank(Rank behind, std::int32_t rail, std::uint32_t epoch, const std::stop_token& stop) const {
    const session::Hello hello{session::Purpose::data, setup_.rank, epoch, 0,
                               static_cast<std::uint16_t>(rail)};
    const auto at = static_cast<std::size_t>(rail);
    const session::Address to = addresses_.at(at).at(behind);
    const Deadline deadline = after_seconds(setup_.timeout_seconds);
    while (true) {
      try {
        return session::connect_authenticated(to, interfaces_.at(at), setup_.secret, hello,
                                              std::min(deadline, after_seconds(connecting_seconds)));
      } catch (const session::ConnectionLost&) {
        if (stop.stop_requested() || milliseconds_left(deadline) == 0) throw;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
    }
  }

  // Computes the SHA-256 of the image, chunk by chunk in order as chunks become available; then syncs the
  // copy to disk and reports the result.
  void read_all(const std::stop_token& stop) {
    Sha256 sum;
    const Memory memory = chunk_memory(*map_);
    for (Chunk chunk = 0; chunk < map_->chunks(); ++chunk) {
      if (!map_->await(chunk, stop) || stop.stop_requested()) return;
      const auto bytes = memory.span().first(static_cast<std::size_t>(map_->size(chunk)));
      image().read_at(bytes, map_->offset(chunk));
      sum.add(octets(bytes));
      checked_bytes_ += map_->size(chunk);
      moved();
    }
    if (target_) image().sync();
    Standing whole = standing();
    whole.sha256 = hex(sum.finish());
    whole.has_changed = source_ && !is_unchanged(*source_, source_status_);
    answer(session::FrameType::result, to_json(whole));
  }

  void commit() {
    if (!target_ || !has_begun_) throw RunError("asked to commit a copy that does not exist");
    target_->commit();
    answer(session::FrameType::committed, json::Object{});
  }

  // Counts progress and, from time to time, reports it. Called by all threads of this rank.
  void moved() {
    ++control_thread_.progress();
    const std::unique_lock lock(telling_, std::try_to_lock);
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> pause(std::max(telling_seconds, setup_.ranks / tellings_per_second));
    if (!lock || now - told_ < pause) return;
    told_ = now;
    answer(session::FrameType::standing, to_json(standing()));
  }

  Standing standing() const {
    const ChunkMap::Counts counts = map_->counts();
    return {.received_bytes = counts.received_bytes,
            .kept_bytes = counts.kept_bytes,
            .checked_bytes = checked_bytes_,
            .sha256 = {}};
  }

  const Image& image() const { return source_ ? source_->image : target_->image(); }
  std::int32_t rails() const { return static_cast<std::int32_t>(interfaces_.size()); }

  session::RankSetup setup_;
  std::vector<session::Address> interfaces_;
  std::vector<session::AddressBook> addresses_;  // [rail]
  session::ControlThread control_thread_;
  std::optional<Source> source_;
  struct stat source_status_ {};
  std::unique_ptr<Target> target_;
  std::unique_ptr<ChunkMap> map_;
  std::optional<ChunkStore> store_;
  Rank before_ = -1, behind_ = -1;
  std::atomic<std::int64_t> checked_bytes_ = 0;
  std::mutex telling_;
  Deadline told_{};
  bool has_begun_ = false;
  // Declared last: their threads use the members above.
  std::unique_ptr<Neighbour> upstream_, downstream_;
  std::jthread reader_;
};

}  // namespace

void work_on_copy(const session::RankSetup& setup, const session::Address& conductor) {
  CloneWorker(setup, session::join(setup, conductor)).serve();
}

}  // namespace crosscut::clone
