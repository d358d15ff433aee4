"""Search for the best baseline row of DCP."""
