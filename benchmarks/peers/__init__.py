"""Compares crosscut with NetPIPE, sockperf and iperf3: the same measurement on the same cores, in turn."""
