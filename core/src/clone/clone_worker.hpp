// A rank at work in the chain: carries out the conductor's orders and owns the threads that receive, send and
// read.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "clone/chunk_stream.hpp"
#include "clone/clone_messages.hpp"
#include "clone/neighbour.hpp"
#include "clone/target.hpp"
#include "session/control_thread.hpp"
#include "session/join.hpp"

namespace crosscut::clone {

class CloneWorker {
 public:
  CloneWorker(const session::RankSetup& setup, session::Membership member);
  void serve();  // until the session ends; throws ConnectionLost if the conductor is gone

 private:
  void obey(const session::Frame& frame);
  void meet(const session::Frame& frame);
  void prepare(const CloneJob& job);
  void prepare_target(const CloneJob& job, Prepared& prepared);
  void look_for_what_is_right();
  void take_place(const Chain& chain);
  void begin();
  void commit();

  Neighbour::Work with_words(Rank peer, decltype(Neighbour::Work::open) open,
                             decltype(Neighbour::Work::run) run);
  Neighbour::Work receiving_from(Rank before, std::uint32_t epoch);
  Neighbour::Work sending_to(Rank behind, std::uint32_t epoch);
  Fd connect_to_rank(Rank behind, std::int32_t rail, std::uint32_t epoch, const std::stop_token& stop) const;
  RailConnection connection(int fd, std::int32_t rail) const;
  void read_all(const std::stop_token& stop);

  void answer(session::FrameType type, const json::Value& words);
  void tell(session::FrameType type, std::span<const std::byte> payload);
  void refuse(const std::string& why, bool usage);
  void moved();

  const Image& image() const { return source_ ? source_->image : target_->image(); }
  std::int32_t rails() const { return static_cast<std::int32_t>(interfaces_.size()); }

  session::RankSetup setup_;
  std::vector<session::Address> interfaces_;
  std::vector<std::vector<session::Address>> addresses_;  // [rail][rank]
  session::ControlThread control_thread_;
  std::optional<Source> source_;
  struct stat source_status_ {};
  std::unique_ptr<Target> target_;
  std::unique_ptr<ChunkMap> map_;
  std::optional<ChunkStore> store_;
  Rank before_ = -1, behind_ = -1;
  std::atomic<std::int64_t> checked_bytes_ = 0;
  std::mutex telling_;
  std::chrono::steady_clock::time_point told_{};
  bool has_begun_ = false;
  // Declared last: their threads use the members above.
  std::unique_ptr<Neighbour> upstream_, downstream_;
  std::jthread reader_;
};

}  // namespace crosscut::clone
