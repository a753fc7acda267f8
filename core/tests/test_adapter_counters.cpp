#include <algorithm>
#include <string>

#include "measure/machine.hpp"
#include "tests/check.hpp"

using namespace crosscut;
using namespace crosscut::measure;

TEST(the_loopback_has_the_kernels_counters) {
  const auto found = adapter_counters("lo");
  for (const std::string name : {"rx_bytes", "tx_packets", "rx_errors", "carrier_changes"}) {
    CHECK(std::ranges::any_of(found, [&](const auto& entry) { return entry.first == name; }));
  }
}

TEST(the_loopback_has_settings) {
  const json::Value found = adapter_settings("lo");
  CHECK(found.at("mtu").integer() >= 1500);
  CHECK(found.at("speed_mbit_s").is_null());
  CHECK(found.at("offloads").find("tso") != nullptr);
}

TEST(a_missing_interface_has_no_settings) {
  const json::Value found = adapter_settings("no-such-if");
  CHECK(found.at("mtu").is_null());
  CHECK(found.find("driver") == nullptr);
}

TEST(a_missing_interface_has_no_counters) {
  CHECK(adapter_counters("no-such-if").empty());
  CHECK(adapter_counters(std::string(300, 'x')).empty());
}

TEST(counters_of_errors_loss_and_pauses_count_as_trouble) {
  for (const std::string name :
       {"rx_prio3_pause", "tx_pause_ctrl_phy", "rx_discards_phy", "rx_symbol_err_phy", "RX_CRC_ERR",
        "fec_uncorrectable_errors", "rx_out_of_buffer_drops"}) {
    CHECK(tells_of_trouble(name));
  }
  for (const std::string name : {"rx_packets", "tx_queue_3_bytes", "peer_ifindex"}) {
    CHECK(!tells_of_trouble(name));
  }
}
