"""Which cable goes where: from files that others keep, so that findings name rack, switch, port, cable."""
