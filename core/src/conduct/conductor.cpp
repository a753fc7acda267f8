#include "conduct/conductor.hpp"

namespace crosscut::conduct {

Conductor::Conductor(const session::RankSetup& setup, const session::Address& interface)
    : host_(setup, interface),
      ranks_(host_.server(), {.input = [this](int fd) { host_.receive_input(fd); },
                              .lost =
                                  [this](const session::LostRank& one) {
                                    host_.events().say(json::Object{{"event", "failed-rank"},
                                                                    {"rank", one.rank},
                                                                    {"node", one.node},
                                                                    {"reason", one.reason}});
                                  },
                              .warn = [this](const std::string& message) { host_.events().warn(message); },
                              .cause = [this](Rank rank) { return host_.cause(rank); },
                              .launcher_reports = setup.reports_fd >= 0}) {}

void Conductor::run() {
  host_.run([this] { serve(); }, [this] { ranks_.dismiss(); });
}

void Conductor::serve() {
  ranks_.assemble(host_.joining_patience(), [this] { host_.check_gathering(); });
  host_.events().say(ranks_.ready_event());
  host_.watch_inputs();
  while (!host_.jobs().over()) {
    if (!host_.jobs().do_next(ranks_)) ranks_.idle(3600);
  }
}

}  // namespace crosscut::conduct
