// Computes instead of measuring: every pattern on a described network, under a virtual clock.
// The model and its sources: docs/reference/simulator.md.
#include <array>

#include "backends/sim/ranks.hpp"
#include "backends/sim/session.hpp"

namespace crosscut::backends::sim {
namespace {

const std::array parameters{
    program::Parameter{
        .name = "engine",
        .kind = program::Parameter::Kind::choice,
        .initial = "max-min",
        .help = "who computes: crosscut's own max-min shares, or SimGrid's SMPI, where ranks are MPI "
                "processes",
        .choices = {"max-min", "smpi"}},
    program::Parameter{.name = "eager",
                       .kind = program::Parameter::Kind::bytes,
                       .unit = "bytes",
                       .initial = "64KiB",
                       .help = "messages of at most so many bytes are sent before their receive is posted"},
    program::Parameter{
        .name = "knee",
        .kind = program::Parameter::Kind::real,
        .initial = "0",
        .help =
            "sharpness p of the soft minimum of link and share, (link^-p + (c share)^-p)^(-1/p); 0: plain "
            "max-min",
        .maximum = 1000},
    program::Parameter{.name = "knee-scale",
                       .kind = program::Parameter::Kind::real,
                       .initial = "1",
                       .help = "part c of a share that flows get of it, with a knee",
                       .minimum = 0.1,
                       .maximum = 1},
    program::Parameter{
        .name = "share-spread",
        .kind = program::Parameter::Kind::real,
        .initial = "0",
        .help = "coefficient of variation of the shares that flows get of what they have in common; 0: "
                "even shares",
        .maximum = 2},
    program::Parameter{.name = "spread-seed",
                       .kind = program::Parameter::Kind::integer,
                       .initial = "1",
                       .help = "same seed, same shares, on every machine",
                       .minimum = 0},
};

}  // namespace

SimModel sim_model(const program::Parameters& given) {
  return {.eager_bytes = given.integer("eager"),
          .knee = networks::Knee(given.real("knee"), given.real("knee-scale")),
          .spread = networks::ShareSpread(given.real("share-spread"),
                                          static_cast<std::uint64_t>(given.integer("spread-seed")))};
}

extern const program::BackendInfo info;
const program::BackendInfo info{.name = "sim",
                                .summary = "computes times on a described network, under a virtual clock",
                                .parameters = parameters,
                                .live = false,
                                .repetitions = 1,
                                .serve = serve_simulation};
}  // namespace crosscut::backends::sim
