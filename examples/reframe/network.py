"""A nightly test of a network, by the promises of network.toml beside it, with thresholds of its own."""

import reframe as rfm
from crosscut_check import CrosscutCheck


@rfm.simple_test
class NightlyNetwork(CrosscutCheck):
    descr = "Every route of 16 nodes, and the latency"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    num_tasks = 16
    num_tasks_per_node = 1
    time_limit = "20m"
    spec = "network.toml"
    place = "slurm"
    check_options = ["--time-limit 10min"]
    # The promises say what was bought, these figures how it was: value, lower and upper tolerance, unit.
    reference = {
        "*": {
            "every_route_worst": (1.1e9, -0.05, None, "B/s"),
            "every_route_middle": (1.15e9, -0.03, None, "B/s"),
            "latency_worst": (20e-6, None, 0.2, "s"),
        }
    }
