// Where each rank listens, over one rail. Every rank holds this of all ranks, so a rank takes six bytes here
// and on the wire, and hosts are kept once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/rank.hpp"
#include "session/socket.hpp"

namespace crosscut::session {

struct AddressBook {
  std::vector<std::string> hosts;   // numeric
  std::vector<std::uint32_t> host;  // [rank], index into `hosts`
  std::vector<std::uint16_t> port;  // [rank]

  // `listeners`: "10.0.0.1:4000", [rank]. Throws UsageError if one is not an address.
  static AddressBook of(std::span<const std::string> listeners) {
    AddressBook book;
    std::unordered_map<std::string, std::uint32_t> known;
    for (const auto& text : listeners) {
      const auto host = text.substr(0, text.rfind(':'));
      book.port.push_back(Address::parse(text).port());
      const auto [at, is_new] = known.emplace(host, static_cast<std::uint32_t>(known.size()));
      if (is_new) book.hosts.push_back(host);
      book.host.push_back(at->second);
    }
    return book;
  }

  // Throws std::out_of_range if the book has no such rank.
  Address at(Rank rank) const {
    const auto place = static_cast<std::size_t>(rank);
    return Address::parse(hosts.at(host.at(place)) + ":" + std::to_string(port.at(place)));
  }

  friend bool operator==(const AddressBook&, const AddressBook&) = default;
};

}  // namespace crosscut::session
