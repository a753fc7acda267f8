"""Reads cabling from files that a site keeps, so that findings can name rack, switch, port and cable."""
