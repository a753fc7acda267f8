"""The figures of one run: rates, latencies, models, cautions."""
