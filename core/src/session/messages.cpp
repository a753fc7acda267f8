#include "session/messages.hpp"

namespace crosscut::session {
namespace {

std::vector<std::byte> bytes_of(const Writer& writer) {
  return {writer.bytes().begin(), writer.bytes().end()};
}

void add_texts(Writer& writer, const std::vector<std::string>& texts) {
  writer.add(static_cast<std::uint32_t>(texts.size()));
  for (const auto& text : texts) writer.add(text);
}

// Each text takes at least the eight bytes of its length, so a claimed count alone takes no memory.
std::vector<std::string> get_texts(Reader& reader) {
  std::vector<std::string> texts;
  for (auto left = reader.get<std::uint32_t>(); left > 0; --left) texts.push_back(reader.text());
  return texts;
}

void add_wrong(Writer& writer, const std::vector<measure::WrongByte>& all) {
  writer.add(static_cast<std::uint64_t>(all.size()));
  for (const auto& one : all) {
    writer.add(one.source).add(one.destination).add(one.phase).add(one.bytes).add(one.offset);
    writer.add(one.expected).add(one.found);
  }
}

std::vector<measure::WrongByte> get_wrong(Reader& reader) {
  std::vector<measure::WrongByte> all;
  for (auto left = reader.get<std::uint64_t>(); left > 0; --left) {
    measure::WrongByte one;
    one.source = reader.get<Rank>();
    one.destination = reader.get<Rank>();
    one.phase = reader.get<std::int64_t>();
    one.bytes = reader.get<std::int64_t>();
    one.offset = reader.get<std::int64_t>();
    one.expected = reader.get<std::uint8_t>();
    one.found = reader.get<std::uint8_t>();
    all.push_back(one);
  }
  return all;
}

template <class T>
T finished(const Reader& reader, T value) {
  if (!reader.at_end()) throw RunError("a frame is longer than its message");
  return value;
}

}  // namespace

std::vector<std::byte> pack(const Joined& message) {
  Writer writer;
  writer.add(message.node).add(message.facts);
  add_texts(writer, message.listeners);
  return bytes_of(writer);
}

template <>
Joined unpack(std::span<const std::byte> payload) {
  Reader reader(payload);
  Joined message;
  message.node = reader.text();
  message.facts = reader.text();
  message.listeners = get_texts(reader);
  return finished(reader, std::move(message));
}

std::vector<std::byte> pack(const Welcome& message) {
  Writer writer;
  writer.add(message.epoch).add(message.living).add(message.node);
  writer.add(static_cast<std::uint32_t>(message.listeners.size()));
  for (const auto& rail : message.listeners) add_texts(writer, rail);
  return bytes_of(writer);
}

template <>
Welcome unpack(std::span<const std::byte> payload) {
  Reader reader(payload);
  Welcome message;
  message.epoch = reader.get<std::uint32_t>();
  message.living = reader.list<Rank>();
  message.node = reader.list<std::int32_t>();
  for (auto left = reader.get<std::uint32_t>(); left > 0; --left)
    message.listeners.push_back(get_texts(reader));
  return finished(reader, std::move(message));
}

std::vector<std::byte> pack(const Ready& message) {
  return bytes_of(Writer()
                      .add(message.offset.seconds)
                      .add(message.offset.uncertainty_seconds)
                      .add(message.exits)
                      .add(message.facts));
}

template <>
Ready unpack(std::span<const std::byte> payload) {
  Reader reader(payload);
  Ready message;
  message.offset.seconds = reader.get<double>();
  message.offset.uncertainty_seconds = reader.get<double>();
  message.exits = reader.list<std::int64_t>();
  message.facts = reader.text();
  return finished(reader, std::move(message));
}

std::vector<std::byte> pack(const RunOrder& message) {
  // A single rank need not know if samples will be summarised, so `summarise` is not sent.
  const auto& request = message.request;
  const auto& block = request.block;
  return bytes_of(Writer()
                      .add(message.epoch)
                      .add(request.bytes)
                      .add(block.size_index)
                      .add(block.phase_first)
                      .add(block.phase_end)
                      .add(block.repetition_first)
                      .add(block.repetition_end)
                      .add(request.iterations)
                      .add(message.lost));
}

template <>
RunOrder unpack(std::span<const std::byte> payload) {
  Reader reader(payload);
  RunOrder message;
  message.epoch = reader.get<std::uint32_t>();
  message.request.bytes = reader.get<std::int64_t>();
  auto& block = message.request.block;
  block.size_index = reader.get<std::int32_t>();
  block.phase_first = reader.get<std::int64_t>();
  block.phase_end = reader.get<std::int64_t>();
  block.repetition_first = reader.get<std::int64_t>();
  block.repetition_end = reader.get<std::int64_t>();
  message.request.iterations = reader.get<std::int64_t>();
  message.lost = reader.list<Rank>();
  return finished(reader, std::move(message));
}

std::vector<std::byte> pack(const Complaint& message) {
  return bytes_of(Writer().add(message.peer).add(message.reason));
}

template <>
Complaint unpack(std::span<const std::byte> payload) {
  Reader reader(payload);
  Complaint message;
  message.peer = reader.get<Rank>();
  message.reason = reader.text();
  return finished(reader, std::move(message));
}

std::vector<std::byte> pack(const Refusal& message) {
  return bytes_of(Writer().add(message.usage).add(message.message));
}

template <>
Refusal unpack(std::span<const std::byte> payload) {
  Reader reader(payload);
  Refusal message;
  message.usage = reader.get<std::uint8_t>() != 0;
  message.message = reader.text();
  return finished(reader, std::move(message));
}

std::vector<std::byte> pack(const measure::RankSamples& message) {
  Writer writer;
  writer.add(message.message_seconds)
      .add(message.rank_seconds)
      .add(message.status)
      .add(message.compute_fraction)
      .add(message.message_lost_bytes);
  add_wrong(writer, message.wrong);
  writer.add(message.wrong_count);
  const auto& effort = message.effort;
  writer.add(effort.processor_seconds).add(effort.elapsed_seconds);
  writer.add(effort.sent_bytes).add(effort.received_bytes);
  return bytes_of(writer);
}

template <>
measure::RankSamples unpack(std::span<const std::byte> payload) {
  Reader reader(payload);
  measure::RankSamples message;
  message.message_seconds = reader.list<double>();
  message.rank_seconds = reader.list<double>();
  message.status = reader.list<store::Status>();
  message.compute_fraction = reader.list<double>();
  message.message_lost_bytes = reader.list<std::int64_t>();
  message.wrong = get_wrong(reader);
  message.wrong_count = reader.get<std::int64_t>();
  message.effort.processor_seconds = reader.get<double>();
  message.effort.elapsed_seconds = reader.get<double>();
  message.effort.sent_bytes = reader.get<std::int64_t>();
  message.effort.received_bytes = reader.get<std::int64_t>();
  return finished(reader, std::move(message));
}

}  // namespace crosscut::session
