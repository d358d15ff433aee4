"""minDCP: the least DCP that published frequencies allow.

_min_dcp_bounds     the public function and its result
_upper_bound        a good baseline, by local search
_lower_bound        a certificate, from merged predicted classes
"""
