"""A Slurm cluster on the nodes of a lab: `configuration` (pure) and `daemons`, which run in the lab."""
