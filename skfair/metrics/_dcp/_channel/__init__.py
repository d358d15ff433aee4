"""Least DCP that published frequencies allow: minDCP."""
