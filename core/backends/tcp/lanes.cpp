// What the kernel tells of the lanes to each peer at the end of a job. This is a separate file because only
// linux/tcp.h has all of tcp_info, and it cannot be included together with netinet/tcp.h.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "backends/tcp/connections.hpp"

namespace crosscut::backends::tcp {
namespace {

// A rank names at most this many peers to which it sent segments again.
constexpr std::size_t most_named = 16;
// All ranks together tell of at most so many routes, but each of one or more, and of most_named at most.
constexpr std::size_t most_of_all = 4096;

// The kernel's least round-trip time of a connection that has measured none.
constexpr std::int64_t unknown_rtt = std::numeric_limits<std::uint32_t>::max();

// All lanes to a peer, since the last call.
struct Told {
  Rank peer = 0;
  LaneCounts grown;
  std::int64_t rtt_us = 0, least_rtt_us = unknown_rtt, window = 0, segment = 0;
};

constexpr std::array fields{"rank",
                            "peer",
                            "segments",
                            "again",
                            "reordered",
                            "marked",
                            "busy_us",
                            "receiver_limited_us",
                            "buffer_limited_us",
                            "rtt_us",
                            "least_rtt_us",
                            "congestion_window",
                            "segment_bytes"};

json::Value row(Rank rank, const Told& one) {
  json::Array numbers{std::int64_t{rank}, std::int64_t{one.peer}};
  for (const auto counted : one.grown) numbers.emplace_back(static_cast<std::int64_t>(counted));
  const auto least = one.least_rtt_us == unknown_rtt ? 0 : one.least_rtt_us;
  for (const auto now : {one.rtt_us, least, one.window, one.segment}) numbers.emplace_back(now);
  return numbers;
}

// Adds what a connection's counters have grown by. Those of 32 bits may have wrapped around.
void add(Told& lane, const tcp_info& info, LaneCounts& before) {
  const LaneCounts now{info.tcpi_data_segs_out, info.tcpi_total_retrans, info.tcpi_reord_seen,
                       info.tcpi_delivered_ce,  info.tcpi_busy_time,     info.tcpi_rwnd_limited,
                       info.tcpi_sndbuf_limited};
  for (std::size_t i = 0; i < now.size(); ++i) {
    const auto growth = now[i] - std::exchange(before[i], now[i]);
    lane.grown[i] += i < wide_counts_from ? static_cast<std::uint32_t>(growth) : growth;
  }
  lane.rtt_us = std::max<std::int64_t>(lane.rtt_us, info.tcpi_rtt);
  lane.least_rtt_us = std::min<std::int64_t>(lane.least_rtt_us, info.tcpi_min_rtt);
  lane.window += info.tcpi_snd_cwnd;
  lane.segment = info.tcpi_snd_mss;
}

}  // namespace

json::Value TcpConnections::lanes() {
  const std::lock_guard lock(closing_);
  std::map<Rank, Told> by_peer;
  for (const auto& [id, lane] : lanes_) {
    auto& one = by_peer.try_emplace(id.peer, Told{.peer = id.peer}).first->second;
    for (auto& connection : lane->connections) {
      tcp_info info{};
      socklen_t length = sizeof info;
      if (::getsockopt(connection.fd.get(), IPPROTO_TCP, TCP_INFO, &info, &length) == 0)
        add(one, info, connection.told);
    }
  }
  std::vector<Told> each;
  std::uint64_t segments = 0, again = 0;
  for (const auto& [peer, one] : by_peer) {
    if (one.grown[0] == 0) continue;
    segments += one.grown[0];
    again += one.grown[1];
    each.push_back(one);
  }
  // The worst first: sent again, waited for the receiver or for buffers, busy.
  std::ranges::stable_sort(each, std::ranges::greater{}, [](const Told& one) {
    const auto& [sent, lost, reordered, marked, busy, receiver, buffer] = one.grown;
    return std::tuple{lost, receiver + buffer, busy};
  });
  json::Object said;
  if (again > 0) {
    json::Array to;
    for (const auto& one : each)
      if (one.grown[1] > 0 && to.size() < most_named)
        to.emplace_back(json::Array{std::int64_t{one.peer}, static_cast<std::int64_t>(one.grown[0]),
                                    static_cast<std::int64_t>(one.grown[1])});
    said.emplace_back("retransmissions", json::Object{{"rank", std::int64_t{context_.rank}},
                                                      {"segments", static_cast<std::int64_t>(segments)},
                                                      {"again", static_cast<std::int64_t>(again)},
                                                      {"to", std::move(to)}});
  }
  const auto most =
      std::clamp<std::size_t>(most_of_all / static_cast<std::size_t>(context_.ranks), 1, most_named);
  json::Array names, rows;
  for (const auto* name : fields) names.emplace_back(std::string(name));
  for (const auto& one : std::span(each).first(std::min(each.size(), most)))
    rows.push_back(row(context_.rank, one));
  if (!rows.empty())
    said.emplace_back("lanes", json::Object{{"fields", std::move(names)}, {"rows", std::move(rows)}});
  return said.empty() ? json::Value() : json::Value(std::move(said));
}

}  // namespace crosscut::backends::tcp
