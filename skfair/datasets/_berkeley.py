"""Graduate admissions at Berkeley, 1973."""

from __future__ import annotations

from typing import Any

import pandas as pd
from sklearn.utils import Bunch

from skfair.datasets._tables import as_dataset, read_description, with_categories

# department, sex, admitted, rejected
COUNTS = (
    ("A", "men", 512, 313),
    ("A", "women", 89, 19),
    ("B", "men", 353, 207),
    ("B", "women", 17, 8),
    ("C", "men", 120, 205),
    ("C", "women", 202, 391),
    ("D", "men", 138, 279),
    ("D", "women", 131, 244),
    ("E", "men", 53, 138),
    ("E", "women", 94, 299),
    ("F", "men", 22, 351),
    ("F", "women", 24, 317),
)


def load_berkeley_admissions(
    *,
    return_X_y: bool = False,
    as_frame: bool = True,
) -> Bunch | tuple[Any, Any]:
    """Load the graduate admissions at Berkeley in 1973, known for Simpson's paradox.

    Men are admitted more often than women overall, and not within departments. The
    24 published counts come with the package and are expanded to one row per
    applicant, sorted by department, sex and outcome.

    ================  ====================================
    Samples           4,526
    Features          2, categorical
    Target            1 (admitted) or 0 (rejected)
    Sensitive         sex, ``"men"`` or ``"women"``
    ================  ====================================

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=True
        Return pandas objects, text columns as categories. Otherwise NumPy arrays;
        `data` is then of dtype object.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        With these attributes:

        data : DataFrame or ndarray of shape (4526, 2)
            department (``"A"`` to ``"F"``) and sex (``"men"`` or ``"women"``).
        target : Series or ndarray of shape (4526,)
            1 if the applicant was admitted, else 0.
        frame : DataFrame of shape (4526, 3) or None
            `data` and `target`; only with ``as_frame=True``.
        feature_names : list of str
            ``["department", "sex"]``.
        target_names : list of str
            Name of the target, ``["admitted"]``.
        sensitive_features : list of str
            ``["sex"]``.
        counts : DataFrame of shape (12, 4)
            The published table: department, sex, admitted, rejected.
        DESCR : str
            Source, citation, licence and known caveats.

    (data, target) : tuple
        If `return_X_y` is True.

    See Also
    --------
    fetch_adult : A larger table, with incomes by sex and race.

    References
    ----------
    .. [1] Bickel P. J., Hammel E. A., O'Connell J. W. (1975). Sex Bias in Graduate
       Admissions: Data from Berkeley. Science 187(4175), 398-404.
       :doi:`10.1126/science.187.4175.398`

    Examples
    --------
    >>> from skfair.datasets import load_berkeley_admissions
    >>> berkeley = load_berkeley_admissions()
    >>> counts = berkeley.counts
    >>> totals = counts.groupby("sex")[["admitted", "rejected"]].sum()
    >>> (totals["admitted"] / totals.sum(axis=1)).round(3).to_dict()
    {'men': 0.445, 'women': 0.304}
    >>> rates = counts["admitted"] / (counts["admitted"] + counts["rejected"])
    >>> rates[counts["department"] == "A"].round(2).tolist()  # men, women
    [0.62, 0.82]
    """
    counts = pd.DataFrame(COUNTS, columns=["department", "sex", "admitted", "rejected"])
    outcomes = counts.rename(columns={"admitted": 1, "rejected": 0}).melt(
        ["department", "sex"], var_name="admitted", value_name="applicants"
    )
    outcomes = outcomes.sort_values(["department", "sex", "admitted"])
    rows = outcomes.loc[outcomes.index.repeat(outcomes["applicants"])]
    table = rows[["department", "sex", "admitted"]].reset_index(drop=True)
    dataset = as_dataset(
        with_categories(table.astype({"admitted": "int64"})),
        target="admitted",
        sensitive_features=["sex"],
        descr=read_description("berkeley_admissions"),
        return_X_y=return_X_y,
        as_frame=as_frame,
        extras={},
    )
    if not return_X_y:
        dataset.counts = counts
    return dataset
