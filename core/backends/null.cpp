// A backend that moves nothing, to test crosscut itself: from the conductor to the run on disk, with any
// number of ranks.
//
// Its clock is virtual. An operation takes latency + bytes / rate, and operations run one after the other in
// the order in which they become ready, so every run of a job gives the same numbers to the bit.
#include <array>
#include <cmath>

#include "measure/live.hpp"

namespace crosscut::backends::null {
namespace {

constexpr std::array parameters{
    program::Parameter{.name = "latency",
                       .kind = program::Parameter::Kind::seconds,
                       .unit = "seconds",
                       .initial = "10us",
                       .help = "fixed time of an operation, in addition to the time of its bytes",
                       .maximum = 1e6},
    program::Parameter{.name = "rate",
                       .kind = program::Parameter::Kind::bytes,
                       .unit = "bytes per second",
                       .initial = "100MB",
                       .help = "rate at which an operation's bytes pass",
                       .minimum = 1},
};

class NullTransport : public measure::HostTransport {
 public:
  static constexpr bool is_synchronised = false;

  NullTransport(const measure::BackendContext&, const program::Parameters& given)
      : latency_nanoseconds_(given.real("latency") * 1e9),
        nanoseconds_per_byte_(1e9 / static_cast<double>(given.integer("rate"))) {}

  void start_phase(std::span<const program::Op>) { now_ = 0; }
  std::int64_t now() const { return now_; }
  void post(const program::Op& op, program::OpIndex index, std::byte* data) {
    execute(op, data);
    done_.push_back(index);
  }
  void execute(const program::Op& op, std::byte*) {
    now_ += std::llround(latency_nanoseconds_ + nanoseconds_per_byte_ * static_cast<double>(op.bytes));
  }
  void wait(std::vector<program::OpIndex>& completed) {
    completed.insert(completed.end(), done_.begin(), done_.end());
    done_.clear();
  }
  json::Value facts() const { return json::Object{{"clock", "virtual"}}; }

 private:
  double latency_nanoseconds_, nanoseconds_per_byte_;
  std::int64_t now_ = 0;
  std::vector<program::OpIndex> done_;
};

}  // namespace

extern const program::BackendInfo info;
const program::BackendInfo info{.name = "null",
                                .summary = "moves nothing under a virtual clock: tests crosscut itself",
                                .parameters = parameters,
                                .live = false,
                                .tolerates_failure = true,
                                .make = measure::make_live<NullTransport>};
}  // namespace crosscut::backends::null
