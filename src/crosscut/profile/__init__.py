"""Message profiles of MPI programs: runs them under the profiler, and reads what it wrote."""
