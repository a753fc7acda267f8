"""A session of the core: starting it on a place, sending jobs, receiving events, showing progress."""
