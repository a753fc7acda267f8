"""What commands share: options, parsers, interrupts."""
