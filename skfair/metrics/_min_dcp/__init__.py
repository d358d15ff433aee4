"""Least DCP that published frequencies allow.

_channel    the most mass that one channel carries, and local search for it
_starts     where the local search begins
_merged     lower bound, predicted labels merged into two or three sets
_result     the result, and confusion matrices that attain the upper bound
_bounds     the public function
"""
