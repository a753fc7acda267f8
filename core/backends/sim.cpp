// Computes instead of measuring: every pattern on a described network, under a virtual clock.
// The model and its sources: docs/reference/simulator.md.
#include <array>

#include "sim_ranks.hpp"
#include "sim_session.hpp"

namespace crosscut {
namespace {

constexpr std::array parameters{
    Parameter{.name = "eager",
              .kind = Parameter::Kind::bytes,
              .unit = "bytes",
              .initial = "64KiB",
              .help = "messages of at most so many bytes are sent before their receive is posted"},
    Parameter{.name = "knee",
              .kind = Parameter::Kind::real,
              .initial = "0",
              .help =
                  "sharpness p of the soft minimum of link and share, (link^-p + share^-p)^(-1/p); 0: plain "
                  "max-min",
              .maximum = 1000},
};

}  // namespace

SimModel sim_model(const Parameters& given) {
  return {.eager_bytes = given.integer("eager"), .knee = Knee(given.real("knee"))};
}

namespace registered {
extern const BackendInfo backend_sim;
const BackendInfo backend_sim{.name = "sim",
                              .summary = "computes times on a described network, under a virtual clock",
                              .parameters = parameters,
                              .live = false,
                              .repetitions = 1,
                              .serve = serve_simulation};
}  // namespace registered
}  // namespace crosscut
