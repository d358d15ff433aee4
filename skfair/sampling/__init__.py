"""Plans of an audit: which groups to sample, and how many rows."""

from skfair.sampling._plans import (
    SampleSizeResult,
    attribute_specific_sampling,
    renyi_entropy,
    required_sample_size,
    rows_to_certify,
    sample_rows,
    weighted_sampling,
)

__all__ = [
    "SampleSizeResult",
    "attribute_specific_sampling",
    "renyi_entropy",
    "required_sample_size",
    "rows_to_certify",
    "sample_rows",
    "weighted_sampling",
]
