"""The lab: a cluster on one machine, of network namespaces, bridges and shaped links (docs/howto-lab.md)."""
