"""The papers' experiments, repeated: `experiments/*.toml` in; published, emulated, simulated, error out."""
