"""Plans the parts of a lab: pure functions of the network and a few choices."""
