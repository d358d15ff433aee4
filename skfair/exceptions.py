"""Warnings of skfair."""

from __future__ import annotations


class MitigationWarning(UserWarning):
    """A mitigator is worse than the plain classifier, or misses the gap it was given.

    It is a class of its own, so that a search over many strengths, some of which are
    too large, can silence it, as it would a
    :class:`~sklearn.exceptions.ConvergenceWarning`.

    See Also
    --------
    skfair.inprocessing.MCDPReweighter : Its `comparison_` holds the figures.

    Examples
    --------
    >>> import warnings
    >>> from skfair.exceptions import MitigationWarning
    >>> warnings.simplefilter("ignore", MitigationWarning)
    """


__all__ = ["MitigationWarning"]
