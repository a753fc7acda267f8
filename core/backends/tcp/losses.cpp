// Counts TCP's retransmissions by lane. This is a separate file because only linux/tcp.h has all of tcp_info,
// and it cannot be included together with netinet/tcp.h.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "backends/tcp/connections.hpp"

namespace crosscut::backends::tcp {
namespace {

// A rank names at most this many lanes, those with the most retransmissions.
constexpr std::size_t most_named = 16;

struct Losses {
  Rank peer = 0;
  std::int64_t segments = 0, again = 0;
};

// Returns by how much one of the kernel's counters has grown. Its 32 bits may have wrapped around.
std::uint32_t growth(std::uint32_t& before, std::uint32_t now) { return now - std::exchange(before, now); }

}  // namespace

json::Value TcpConnections::losses() {
  const std::lock_guard lock(closing_);
  Losses all;
  std::vector<Losses> each;
  for (const auto& [id, lane] : lanes_) {
    Losses one{id.peer};
    for (auto& connection : lane->connections) {
      tcp_info info{};
      socklen_t length = sizeof info;
      if (::getsockopt(connection.fd.get(), IPPROTO_TCP, TCP_INFO, &info, &length) != 0) continue;
      one.segments += growth(connection.segments, info.tcpi_data_segs_out);
      one.again += growth(connection.again, info.tcpi_total_retrans);
    }
    all.segments += one.segments;
    all.again += one.again;
    if (one.again > 0) each.push_back(one);
  }
  if (each.empty()) return {};
  std::ranges::stable_sort(each, std::ranges::greater{}, &Losses::again);
  each.resize(std::min(each.size(), most_named));
  json::Array to;
  for (const auto& one : each) to.emplace_back(json::Array{std::int64_t{one.peer}, one.segments, one.again});
  return json::Object{{"rank", std::int64_t{context_.rank}},
                      {"segments", all.segments},
                      {"again", all.again},
                      {"to", std::move(to)}};
}

}  // namespace crosscut::backends::tcp
