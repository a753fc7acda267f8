"""What every folder may use: errors, units, bounded reading, the core. It imports no other folder."""
