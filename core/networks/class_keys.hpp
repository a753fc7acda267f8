// Keys of hosts, switches and links that are the same whether they are listed or made by a generator.
#pragma once

#include "networks/reading.hpp"

namespace crosscut::networks {

void read_host_keys(TableReader& table, HostClass& host);
// `generated`: only what a generator leaves open; rates and capacities are its parameters.
void read_switch_keys(TableReader& table, SwitchClass& its, bool generated);
void read_link_keys(TableReader& table, LinkClass& its, bool generated);

// [switch], [switch.NAME], [link], [link.NAME] over the classes that a generator made; what is written wins.
void apply_to_classes(const TomlNode& root, Graph& graph, Mistakes& mistakes);

Protocol read_protocol(const TomlNode& root, Mistakes& mistakes);

}  // namespace crosscut::networks
