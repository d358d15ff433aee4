"""What the numbers of a report say, in sentences."""
