"""The lab: a cluster on one machine, built from network namespaces, bridges and shaped links.

See docs/howto-lab.md.
"""
