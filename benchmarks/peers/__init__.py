"""crosscut beside NetPIPE, sockperf and iperf3: the same question, asked of the same two cores, in turn."""
