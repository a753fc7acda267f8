"""What commands share: options, parsers, the start of programs."""
