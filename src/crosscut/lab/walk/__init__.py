"""Walks the routes of a lab, like traceroute."""
