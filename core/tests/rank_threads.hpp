// Ranks as threads of one process, each with control thread, barrier and acceptor on loopback: enough to run
// a transport or a live backend without a conductor.
#pragma once

#include <sys/socket.h>

#include <exception>
#include <functional>
#include <map>
#include <thread>

#include "measure/transport.hpp"
#include "program/registry.hpp"
#include "session/barrier_tree.hpp"
#include "session/control_thread.hpp"

namespace crosscut::tests {

class RankThreads {
 public:
  struct Member {
    Member(Fd control, std::vector<session::Acceptor> acceptors)
        : control_thread(std::move(control), std::move(acceptors)) {}
    session::ControlThread control_thread;
    session::BarrierTree barrier;
    std::unique_ptr<measure::BackendContext> context;
  };

  explicit RankThreads(Rank ranks, bool polling = false)
      : interfaces_{session::Address::parse("127.0.0.1:0")} {
    std::vector<std::string> listeners;
    for (Rank rank = 0; rank < ranks; ++rank) {
      std::vector<session::Acceptor> acceptors;
      acceptors.emplace_back(interfaces_[0], secret_);
      listeners.push_back(acceptors[0].address().text());
      auto [ours, theirs] = pair();
      conductors_.push_back(std::move(ours));
      members_.push_back(std::make_unique<Member>(std::move(theirs), std::move(acceptors)));
    }
    addresses_ = {session::AddressBook::of(listeners)};
    for (Rank rank = 0; rank < ranks; ++rank) {
      auto& member = *members_[static_cast<std::size_t>(rank)];
      member.context = std::make_unique<measure::BackendContext>(
          measure::BackendContext{.rank = rank,
                                  .ranks = ranks,
                                  .secret = secret_,
                                  .control_thread = member.control_thread,
                                  .barrier = member.barrier,
                                  .addresses = addresses_,
                                  .interfaces = interfaces_,
                                  .polling = polling,
                                  .timeout_seconds = 20});
    }
    join_barriers();
  }

  Member& at(Rank rank) { return *members_[static_cast<std::size_t>(rank)]; }
  const measure::BackendContext& context(Rank rank) { return *at(rank).context; }

  // Runs `body` as every rank; rethrows the first exception.
  void run(const std::function<void(Rank)>& body) {
    std::vector<std::exception_ptr> failures(members_.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      threads.emplace_back([&, i] {
        try {
          body(static_cast<Rank>(i));
        } catch (...) {
          failures[i] = std::current_exception();
        }
      });
    }
    for (auto& thread : threads) thread.join();
    for (const auto& failure : failures) {
      if (failure) std::rethrow_exception(failure);
    }
  }

  static program::Parameters parameters(const std::string& backend,
                                        const std::map<std::string, std::string>& given = {}) {
    return program::Parameters(program::find_backend(backend).parameters, given, "backend " + backend);
  }

 private:
  static std::pair<Fd, Fd> pair() {
    int fds[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) throw_errno("create a socket pair");
    return {Fd(fds[0]), Fd(fds[1])};
  }
  void join_barriers() {  // up to 17 ranks: rank 0 is the parent of all
    std::vector<Fd> children;
    for (std::size_t i = 1; i < members_.size(); ++i) {
      auto [up, down] = pair();
      children.push_back(std::move(down));
      members_[i]->barrier.set(std::move(up), {});
    }
    members_[0]->barrier.set(Fd(), std::move(children));
  }

  std::string secret_ = std::string(32, 's');
  std::vector<session::Address> interfaces_;
  std::vector<session::AddressBook> addresses_;
  std::vector<Fd> conductors_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace crosscut::tests
