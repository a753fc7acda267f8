"""Networks with known truth, made from seeds: how often `crosscut locate` finds what is there."""
