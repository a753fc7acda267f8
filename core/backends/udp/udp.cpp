// UDP over sockets: latency, rate and loss in every pattern. lmbench's lat_udp (McVoy, Staelin 1996) measures
// the first of these.
#include "backends/udp/transport.hpp"
#include "measure/live.hpp"

namespace crosscut::backends::udp {
namespace {

constexpr std::array parameters{
    program::Parameter{
        .name = "datagram",
        .kind = program::Parameter::Kind::bytes,
        .unit = "bytes",
        .initial = "0",
        .help = "bytes of a message in one datagram, 64 to 65483; 0: as many as fit the interface's MTU",
        .maximum = most_chunk_bytes},
    program::Parameter{.name = "rate",
                       .kind = program::Parameter::Kind::bytes,
                       .unit = "bytes per second",
                       .initial = "0",
                       .help = "a rank sends no faster than this; 0: as fast as the kernel takes datagrams"},
    program::Parameter{
        .name = "reordering",
        .kind = program::Parameter::Kind::seconds,
        .unit = "seconds",
        .initial = "1ms",
        .help = "bytes still missing this long after a later datagram of the same flow count as lost",
        .minimum = 1e-6,
        .maximum = 60},
    program::Parameter{
        .name = "grace",
        .kind = program::Parameter::Kind::seconds,
        .unit = "seconds",
        .initial = "20ms",
        .help =
            "bytes still missing this long after the sender reported over TCP that all was sent, and after "
            "the last one came, count as lost",
        .minimum = 1e-6,
        .maximum = 60},
    tcp::buffer_parameter("send-buffer", "send buffer of a socket (SO_SNDBUF); 0 leaves it to the kernel"),
    tcp::buffer_parameter("receive-buffer",
                          "receive buffer of a socket (SO_RCVBUF); 0: as much as net.core.rmem_max allows"),
    program::Parameter{.name = "early-buffer",
                       .kind = program::Parameter::Kind::bytes,
                       .unit = "bytes",
                       .initial = "4MiB",
                       .help = "memory for datagrams that arrive before their receive is posted",
                       .maximum = 1e10},
    program::Parameter{
        .name = "offload",
        .kind = program::Parameter::Kind::boolean,
        .initial = "true",
        .help = "let kernel and adapter cut and join runs of datagrams (UDP_SEGMENT, UDP_GRO)"},
};

}  // namespace

extern const program::BackendInfo info;
const program::BackendInfo info{.name = "udp",
                                .summary = "UDP over sockets: lost data stays lost, and is counted",
                                .parameters = parameters,
                                .tolerates_failure = true,
                                .lossy = true,
                                .make = measure::make_live<UdpTransport>};
}  // namespace crosscut::backends::udp
