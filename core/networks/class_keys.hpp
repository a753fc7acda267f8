// Reads keys of hosts, switches and links, the same in listed and generated networks.
#pragma once

#include "networks/reading.hpp"

namespace crosscut::networks {

void read_host_keys(TableReader& table, HostClass& host);
// `generated`: reads only what a generator leaves open; rates and capacities are its parameters.
void read_switch_keys(TableReader& table, SwitchClass& its, bool generated);
void read_link_keys(TableReader& table, LinkClass& its, bool generated);

// Applies [switch], [switch.NAME], [link] and [link.NAME] to the classes that a generator made; the file's
// values win.
void apply_to_classes(const TomlNode& root, Graph& graph, Mistakes& mistakes);

Protocol read_protocol(const TomlNode& root, Mistakes& mistakes);

}  // namespace crosscut::networks
