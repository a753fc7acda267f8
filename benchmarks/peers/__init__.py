"""Compares crosscut with NetPIPE, sockperf, iperf3 and fi_pingpong: the same measurement, in turn."""
