"""Message profiles of MPI programs: running under the profiler, reading what it wrote."""
