// Frames and messages between ranks and conductor: a truncated or overlong one is an error, never a guess.
#include <sys/socket.h>

#include <thread>

#include "session/messages.hpp"
#include "session/wire.hpp"
#include "tests/check.hpp"

using namespace crosscut;
using namespace crosscut::measure;
using namespace crosscut::session;
using namespace crosscut::store;

namespace {

Deadline soon() { return after_seconds(20); }

struct Line {
  Fd a, b;
};
Line make_line() {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

void say(const Fd& fd, std::uint32_t length, std::uint32_t type) {
  const std::array<std::uint32_t, 2> head{length, type};
  send_all(fd.get(), std::as_bytes(std::span(head)), soon());
}

Joined joined() { return {"node-1", R"({"name":"n1"})", {"10.0.0.1:4000", "10.1.0.1:4001"}}; }
Welcome welcome() { return {3, {0, 1, 5}, {{{"10.0.0.1", "[fd00::1]"}, {0, 1}, {1, 2}}, {}}, {0, 0, 1}}; }
Ready ready() { return {0.25, "{}"}; }
RunOrder order() { return {2, {1000, {1, 0, 7, 3, 4}, 50}, {4}}; }
Complaint complaint() { return {6, "reset by peer"}; }
Refusal refusal() { return {true, "no such size"}; }
RankSamples samples() {
  RankSamples made{{1.5, 2.5},
                   {3.5},
                   {Status::measured, Status::skipped},
                   {0.5},
                   {17},
                   {-5},
                   {},
                   9,
                   {0.25, 0.75, 11, 13},
                   {{1, 2, 3, 4, 5, 6}}};
  made.wrong.push_back({1, 2, 3, 4, 5, 6, 7});
  return made;
}

// Packing an unpacked message gives the same bytes; less or more than one message is refused.
template <typename Message>
void check_message(const Message& message) {
  const std::vector<std::byte> whole = pack(message);
  CHECK(pack(unpack<Message>(whole)) == whole);
  for (std::size_t length = 0; length < whole.size(); ++length)
    CHECK_THROWS_SAYING(RunError, "a message ended early", unpack<Message>(std::span(whole).first(length)));
  std::vector<std::byte> longer = whole;
  longer.push_back(std::byte{0});
  CHECK_THROWS_SAYING(RunError, "longer than expected", unpack<Message>(longer));
}

}  // namespace

TEST(a_frame_arrives_as_it_was_sent_whatever_its_length) {
  for (const std::size_t length : {0UL, 1UL, 1023UL, 1024UL, 1025UL, (1UL << 20) + 1}) {
    Line line = make_line();
    const Fd &a = line.a, &b = line.b;
    std::vector<std::byte> payload(length);
    for (std::size_t i = 0; i < length; ++i) payload[i] = static_cast<std::byte>(i * 7);
    std::thread sender([&, fd = a.get()] { send_frame(fd, FrameType::result, payload, soon()); });
    const Frame frame = receive_frame(b.get(), soon());
    sender.join();
    CHECK(frame.type == FrameType::result);
    CHECK(frame.payload == payload);
  }
}

TEST(frames_follow_one_another) {
  Line line = make_line();
  const Fd &a = line.a, &b = line.b;
  for (std::uint64_t i = 0; i < 20; ++i)
    send_frame(a.get(), FrameType::pong, Writer().add(i).bytes(), soon());
  for (std::uint64_t i = 0; i < 20; ++i)
    CHECK_EQ(Reader(receive_frame(b.get(), soon()).payload).get<std::uint64_t>(), i);
}

TEST(a_frame_that_claims_to_be_too_large_is_refused_before_it_arrives) {
  Line line = make_line();
  const Fd &a = line.a, &b = line.b;
  say(a, 1001, 1);
  CHECK_THROWS_SAYING(RunError, "claims 1001 bytes, more than 1000", receive_frame(b.get(), soon(), 1000));
  say(a, 0xffffffff, 1);
  CHECK_THROWS_SAYING(RunError, "claims 4294967295 bytes", receive_frame(b.get(), soon()));
}

TEST(a_frame_cut_short_at_any_byte_is_a_lost_connection) {
  for (const std::size_t length : {0UL, 3UL, 7UL, 8UL, 9UL, 11UL}) {
    Line line = make_line();
    const Fd &a = line.a, &b = line.b;
    const std::array<std::byte, 12> whole{std::byte{4}, {}, {}, {}, std::byte{1}};
    send_all(a.get(), std::span(whole).first(length), soon());
    line.a.reset();
    CHECK_THROWS(ConnectionLost, receive_frame(b.get(), soon()));
  }
}

TEST(a_frame_is_put_together_from_pieces_without_waiting_for_the_rest) {
  Line line = make_line();
  const std::array<std::byte, 20> two{std::byte{4}, {}, {}, {}, std::byte{1}, {}, {}, {}, std::byte{7}};
  FrameReader reader;
  CHECK(!reader.read(line.b.get()) && !reader.midway());
  for (std::size_t i = 0; i < 12; ++i) {
    CHECK(!reader.read(line.b.get()));
    CHECK_EQ(reader.midway(), i > 0);
    send_all(line.a.get(), std::span(two).subspan(i, 1), soon());
  }
  send_all(line.a.get(), std::span(two).subspan(12), soon());
  const auto first = reader.read(line.b.get()), second = reader.read(line.b.get());
  REQUIRE(first && second);
  CHECK(first->type == FrameType::joined && first->payload.size() == 4 && first->payload[0] == std::byte{7});
  CHECK(second->payload.empty() && !reader.midway());
}

TEST(a_frame_that_does_not_arrive_is_given_up) {
  Line line = make_line();
  const Fd &a = line.a, &b = line.b;
  say(a, 4, 1);
  CHECK_THROWS_SAYING(ConnectionLost, "in time", receive_frame(b.get(), after_seconds(0.02)));
}

TEST(a_reader_takes_no_more_than_there_is) {
  const auto bytes = Writer().add(std::uint32_t{7}).add(std::vector<double>{1, 2}).add(std::string("x"));
  Reader reader(bytes.bytes());
  CHECK_EQ(reader.get<std::uint32_t>(), 7);
  CHECK(reader.get<std::vector<double>>() == std::vector<double>({1, 2}));
  CHECK_EQ(reader.get<std::string>(), "x");
  CHECK(reader.at_end());
  CHECK_THROWS(RunError, reader.get<std::uint8_t>());
}

TEST(a_count_larger_than_the_frame_takes_no_memory) {
  for (const std::uint64_t count : {1ULL << 20, 1ULL << 61, ~0ULL}) {
    const Writer writer = Writer().add(count).add(std::uint64_t{0});
    CHECK_THROWS(RunError, Reader(writer.bytes()).get<std::vector<double>>());
    CHECK_THROWS(RunError, Reader(writer.bytes()).get<std::string>());
  }
}

TEST(messages_survive_packing_and_unpacking) {
  CHECK(unpack<Joined>(pack(joined())).listeners == joined().listeners);
  const auto again = unpack<Welcome>(pack(welcome()));
  CHECK(again.epoch == 3 && again.lost == welcome().lost && again.listeners == welcome().listeners &&
        again.node == welcome().node);
  CHECK_EQ(unpack<Ready>(pack(ready())).clock_uncertainty_seconds, 0.25);
  const auto what = unpack<RunOrder>(pack(order()));
  CHECK(what.request.bytes == 1000 && what.request.block.repetition_end == 4 && what.lost == order().lost);
  CHECK_EQ(unpack<Complaint>(pack(complaint())).peer, 6);
  CHECK_EQ(unpack<Refusal>(pack(refusal())).usage, true);
  const auto measured = unpack<RankSamples>(pack(samples()));
  CHECK(measured.status == samples().status && measured.wrong.at(0).found == 7 && measured.wrong_count == 9);
  CHECK(measured.started == samples().started);
  CHECK(measured.effort.processor_seconds == 0.25 && measured.effort.elapsed_seconds == 0.75);
  CHECK(measured.effort.sent_bytes == 11 && measured.effort.received_bytes == 13);
  CHECK(measured.connections == samples().connections && measured.connections.size() == 1);
}

TEST(messages_cut_or_lengthened_by_a_byte_are_refused) {
  check_message(joined());
  check_message(welcome());
  check_message(ready());
  check_message(order());
  check_message(complaint());
  check_message(refusal());
  check_message(samples());
}

TEST(an_address_book_keeps_each_host_once) {
  const std::vector<std::string> listeners{"10.0.0.1:4000", "10.0.0.1:4001", "[fd00::1]:65535", "10.0.0.1:1"};
  const auto book = AddressBook::of(listeners);
  CHECK_EQ(book.hosts.size(), 2U);
  for (Rank rank = 0; rank < 4; ++rank)
    CHECK_EQ(book.at(rank).text(), listeners[static_cast<std::size_t>(rank)]);
  CHECK_THROWS(std::out_of_range, book.at(4));
  CHECK_THROWS(std::out_of_range, book.at(-1));
  CHECK_THROWS(UsageError, AddressBook::of(std::vector<std::string>{"n001:4000"}));
}
