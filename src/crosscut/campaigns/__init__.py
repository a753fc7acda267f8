"""Session clients that measure more than once: evaluate, check, locate, quick checks and the demo."""
