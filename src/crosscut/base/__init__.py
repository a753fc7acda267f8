"""Code that every folder may use: errors, units, bounded reading, the core. Imports no other folder."""
