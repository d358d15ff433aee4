"""Tables on which fairness is studied, and generators of biased data."""

from skfair.datasets._biased import make_biased_classification, make_biased_scores
from skfair.datasets._tables import (
    fetch_adult,
    fetch_bank_marketing,
    fetch_oulad,
    load_berkeley_admissions,
)

__all__ = [
    "fetch_adult",
    "fetch_bank_marketing",
    "fetch_oulad",
    "load_berkeley_admissions",
    "make_biased_classification",
    "make_biased_scores",
]
