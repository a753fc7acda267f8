"""High-Performance Linpack and b_eff's rings: hpcc, another's program, started and read."""
