"""Health of a Slurm cluster's nodes: searches, what a policy makes of them, and drained nodes."""
