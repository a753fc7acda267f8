"""A session of the core: starting it on a place, jobs in, events out, what people see meanwhile."""
