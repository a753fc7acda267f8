"""Walking the routes of a lab, as traceroute does."""
