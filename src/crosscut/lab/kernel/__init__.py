"""The parts of the kernel that a lab is built from: namespaces, links, queues."""
