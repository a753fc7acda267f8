"""Pure functions: measured arrays in, figures out."""
