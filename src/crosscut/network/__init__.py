"""Networks as the core describes them: vertices, links, paths, and how a lab carries them."""
