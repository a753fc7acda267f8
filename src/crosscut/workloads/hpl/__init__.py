"""High-Performance Linpack and b_eff's rings: runs hpcc, an external program, and parses its output."""
