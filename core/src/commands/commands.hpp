// The commands behind main(). argv[0] is the command's name; each returns the exit status or throws.
#pragma once

#include <string_view>

namespace crosscut::commands {

int node_main(int argc, char** argv);
int list_main(int argc, char** argv);
int network_main(int argc, char** argv);
int run_main(int argc, char** argv);
int coordinates_main(int argc, char** argv);
int replay_main(int argc, char** argv);

// Prints `help` and returns true if an argument is --help or -h.
bool print_help(int argc, char** argv, std::string_view help);
void print(std::string_view text);  // to standard output

}  // namespace crosscut::commands
