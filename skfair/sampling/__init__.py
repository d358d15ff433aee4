"""Plans of an audit: which groups to sample, and how many rows."""

from skfair.sampling._plans import attribute_specific_sampling, weighted_sampling
from skfair.sampling._renyi_entropy import renyi_entropy
from skfair.sampling._required_sample_size import SampleSizeResult, required_sample_size
from skfair.sampling._rows_to_certify import rows_to_certify
from skfair.sampling._sample_rows import sample_rows

__all__ = [
    "SampleSizeResult",
    "attribute_specific_sampling",
    "renyi_entropy",
    "required_sample_size",
    "rows_to_certify",
    "sample_rows",
    "weighted_sampling",
]
