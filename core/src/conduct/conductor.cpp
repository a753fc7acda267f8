#include "conduct/conductor.hpp"

namespace crosscut::conduct {

Conductor::Conductor(const session::RankSetup& setup, const session::Address& interface)
    : podium_(setup, interface),
      ranks_(podium_.server(),
             {.input = [this](int fd) { podium_.hear_input(fd); },
              .lost =
                  [this](const session::LostRank& one) {
                    podium_.events().say(json::Object{{"event", "failed-rank"},
                                                      {"rank", one.rank},
                                                      {"node", one.node},
                                                      {"reason", one.reason}});
                  },
              .warn = [this](const std::string& message) { podium_.events().warn(message); },
              .cause = [this](Rank rank) { return podium_.cause(rank); },
              .launcher_reports = setup.reports_fd >= 0}) {}

void Conductor::run() {
  podium_.run([this] { serve(); }, [this] { ranks_.dismiss(); });
}

void Conductor::serve() {
  ranks_.assemble(podium_.joining_patience(), [this] { podium_.check_gathering(); });
  podium_.events().say(ranks_.ready_event());
  podium_.watch_inputs();
  while (!podium_.desk().over()) {
    if (!podium_.desk().do_next(ranks_)) ranks_.idle(3600);
  }
}

}  // namespace crosscut::conduct
