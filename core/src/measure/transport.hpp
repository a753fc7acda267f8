// The interface between the timing loop (live.hpp) and a transport. To a transport every operation is one
// message. Backends that share the loop differ only in their transports.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "base/memory.hpp"
#include "measure/backend.hpp"
#include "measure/gpu.hpp"
#include "program/program.hpp"

namespace crosscut::measure {

// Identifies a connection between this rank and a peer, used in both directions.
struct ConnectionId {
  Rank peer = 0;
  std::uint8_t channel = 0;
  std::uint8_t rail = 0;
  friend auto operator<=>(const ConnectionId&, const ConnectionId&) = default;
};

// Additional members of a transport that may lose bytes.
template <class T>
concept CountsLosses = requires(T t, const T c, program::OpIndex index) {
  t.settle();  // after a phase, untimed: peers learn what was sent, so that none waits for lost data
  // Returns the time, in nanoseconds, at which the last byte of an operation moved; for phase_start, the last
  // byte of the phase. A sample therefore excludes the wait for lost bytes, unless no byte arrived: then it
  // ends when the receive gave up.
  { c.moved_at(index) } -> std::same_as<std::int64_t>;
};

// An additional member of a transport whose library has collective operations (BackendInfo::collectives).
template <class T>
concept RunsCollectives = requires(T t, const program::Op& op, std::byte* sent, std::byte* result) {
  t.collect(op, sent, result);  // runs one to completion; both are the same if it works in place
};

template <class T>
concept Transport = requires(T t, const T c, std::span<const ConnectionId> ids, const program::Op& op,
                             program::OpIndex index, std::byte* data,
                             std::vector<program::OpIndex>& completed, std::uint32_t epoch) {
  { T::is_synchronised } -> std::convertible_to<bool>;
  { T::is_lossy } -> std::convertible_to<bool>;
  // Throws UsageError if it cannot run the programs of a pattern with this extent as its parameters ask.
  t.accept(program::Extent{});
  t.begin_job();
  // Returns false if so many connections may exceed what this rank can have at once. Then expect() receives,
  // before the first block, the connections that the job needs, and throws UsageError if they are too many.
  { c.has_room_for(std::size_t{}) } -> std::same_as<bool>;
  t.expect(ids);
  // Called on all ranks before a block, untimed. The block uses these connections and no others.
  t.connect(ids, epoch);
  // Returns the connections opened by this rank that the job uses for the first time.
  { t.take_new_connections() } -> std::same_as<std::vector<store::Connection>>;
  // Allocates memory for messages: registered with the network, or on a device, as the transport requires.
  // Not called while operations are in progress; the memory is freed before the transport. All ranks allocate
  // and free in the same order, so that a transport may do either together with them.
  { t.allocate(std::size_t{}) } -> std::same_as<Memory>;
  { c.gpu() } -> std::same_as<const Gpu*>;  // on which allocate() allocates; null: host memory
  // Returns `bytes`, or the most of all ranks if they can only allocate together. Called on all ranks.
  { t.agree_on(std::size_t{}) } -> std::same_as<std::size_t>;
  t.start_phase(std::span<const program::Op>{});  // called just before the first operation of a phase
  { t.now() } -> std::same_as<std::int64_t>;      // nanoseconds; virtual if no real time passes
  t.post(op, index, data);                        // starts an operation; may also complete it
  t.wait(completed);                              // appends the index of at least one completed operation
  t.execute(op, data);                            // runs one operation to completion by the fastest path
  // Called before an execute() that does not end its phase: the operation that this rank executes next.
  t.foresee(op, data);
  // Called on all ranks between phases, untimed, before they wait for each other outside the transport. After
  // it no rank needs the transport of another to do anything.
  t.drain();
  { c.lost_bytes(index) } -> std::convertible_to<std::int64_t>;  // lossy: bytes that a receive lost
  t.disconnect();
  t.interrupt();
  { c.facts() } -> std::same_as<json::Value>;
  { t.lanes() } -> std::same_as<json::Value>;
}
&&(!T::is_lossy || CountsLosses<T>);

// Defaults for a transport with messages in host memory that loses nothing. A transport derives from it and
// hides the members that differ.
struct HostTransport {
  static constexpr bool is_synchronised = true;  // ranks wait for each other between phases
  static constexpr bool is_lossy = false;
  void accept(const program::Extent&) const {}
  void begin_job() {}
  bool has_room_for(std::size_t) const { return true; }
  void expect(std::span<const ConnectionId>) {}
  void connect(std::span<const ConnectionId>, std::uint32_t) {}
  std::vector<store::Connection> take_new_connections() { return {}; }
  Memory allocate(std::size_t bytes) { return Memory(bytes); }
  const Gpu* gpu() const { return nullptr; }
  std::size_t agree_on(std::size_t bytes) { return bytes; }
  void start_phase(std::span<const program::Op>) {}
  void foresee(const program::Op&, const std::byte*) {}
  void drain() {}
  std::int64_t now() const { return monotonic_nanoseconds(); }
  std::int64_t lost_bytes(program::OpIndex) const { return 0; }
  void disconnect() {}
  void interrupt() {}
  json::Value facts() const { return {}; }
  json::Value lanes() { return {}; }
};

}  // namespace crosscut::measure
