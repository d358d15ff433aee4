"""The Bank Marketing table, in its two editions."""

from __future__ import annotations

from os import PathLike
from typing import Any

import pandas as pd
from sklearn.utils import Bunch

from skfair.datasets._tables import (
    as_dataset,
    data_directory,
    download_table,
    read_description,
    read_table,
    require_columns,
    with_categories,
)

FILENAME = "bank_additional_full.csv.gz"
OPENML_ID = 1461  # "bank-marketing", version 1
TARGET = "y"
# fmt: off
ADDITIONAL_COLUMNS = (
    "age", "job", "marital", "education", "default", "housing", "loan", "contact",
    "month", "day_of_week", "duration", "campaign", "pdays", "previous", "poutcome",
    "emp.var.rate", "cons.price.idx", "cons.conf.idx", "euribor3m", "nr.employed",
    TARGET,
)
# OpenML calls these V1 to V16 and Class, in this order.
OLDER_COLUMNS = (
    "age", "job", "marital", "education", "default", "balance", "housing", "loan",
    "contact", "day", "month", "duration", "campaign", "pdays", "previous", "poutcome",
    TARGET,
)
# fmt: on
SENSITIVE_FEATURES = ("age", "marital", "education")


def fetch_bank_marketing(
    *,
    data_home: str | PathLike[str] | None = None,
    return_X_y: bool = False,
    as_frame: bool = True,
) -> Bunch | tuple[Any, Any]:
    """Load a Bank Marketing table: which clients subscribe to a term deposit.

    There are two editions of this study, with different rows and columns, and which
    one you get depends on where it comes from:

    - If the environment variable ``SKFAIR_DATA`` names a directory, its file
      ``bank_additional_full.csv.gz``: the edition *bank-additional-full* of 2014.
    - Otherwise the *older* edition *bank-full*, downloaded once from OpenML (data_id
      1461) through :func:`sklearn.datasets.fetch_openml`. No copy of the newer one on
      OpenML is known to us. OpenML calls its columns V1 to V16 and Class, and its
      labels 1 and 2; the loader restores the names, and ``"no"`` and ``"yes"``.

    ================  ==============================  ==============================
    Edition           bank-additional-full (local)    bank-full (OpenML)
    ================  ==============================  ==============================
    Samples           41,188                          45,211
    Features          20                              16
    Only here         day_of_week, emp.var.rate,      balance, day
                      cons.price.idx, cons.conf.idx,
                      euribor3m, nr.employed
    education         8 levels, as university.degree  4 levels, as tertiary
    No contact yet    pdays = 999                     pdays = -1
    Target            ``"no"`` or ``"yes"``           ``"no"`` or ``"yes"``
    Sensitive         age, marital, education         age, marital, education
    ================  ==============================  ==============================

    Both have age, job, marital, education, default, housing, loan, contact, month,
    duration, campaign, pdays, previous and poutcome.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Download and cache folder, as in :func:`sklearn.datasets.fetch_openml`.
        Not used if ``SKFAIR_DATA`` is set.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=True
        Return pandas objects, text columns as categories. Otherwise NumPy arrays,
        of dtype object because columns hold text.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        With these attributes:

        data : DataFrame or ndarray of shape (n_samples, n_features)
            The features: (41188, 20) or (45211, 16).
        target : Series or ndarray of shape (n_samples,)
            ``"yes"`` if the client subscribed, else ``"no"``.
        frame : DataFrame of shape (n_samples, n_features + 1) or None
            `data` and `target`; only with ``as_frame=True``.
        feature_names : list of str
            Names of the features.
        target_names : list of str
            Name of the target, ``["y"]``.
        sensitive_features : list of str
            ``["age", "marital", "education"]``.
        DESCR : str
            Edition, source, citation, licence and known caveats.

    (data, target) : tuple
        If `return_X_y` is True.

    Raises
    ------
    FileNotFoundError
        If ``SKFAIR_DATA`` is set and has no ``bank_additional_full.csv.gz``.
    ConnectionError
        If the table cannot be downloaded.
    ValueError
        If the table lacks a column.

    See Also
    --------
    fetch_adult : Incomes, by sex and race.
    fetch_oulad : Students, by gender, poverty, disability and age.

    References
    ----------
    .. [1] Moro S., Cortez P., Rita P. (2014). A Data-Driven Approach to Predict the
       Success of Bank Telemarketing. Decision Support Systems 62, 22-31.
       :doi:`10.1016/j.dss.2014.03.001`
    .. [2] UCI Machine Learning Repository, Bank Marketing. :doi:`10.24432/C5K306`

    Examples
    --------
    >>> from skfair.datasets import fetch_bank_marketing
    >>> bank = fetch_bank_marketing()  # doctest: +SKIP
    >>> bank.sensitive_features  # doctest: +SKIP
    ['age', 'marital', 'education']
    >>> sorted(bank.target.unique())  # doctest: +SKIP
    ['no', 'yes']
    """
    directory = data_directory()
    if directory is None:
        edition, table = "older", _download(data_home)
    else:
        advice = (
            "Add it, or unset SKFAIR_DATA to download the older edition, which has "
            "other rows and columns, from OpenML."
        )
        edition, table = "additional", read_table(directory, FILENAME, advice)
        table = require_columns(table, ADDITIONAL_COLUMNS, FILENAME)
    return as_dataset(
        with_categories(table),
        target=TARGET,
        sensitive_features=SENSITIVE_FEATURES,
        descr=read_description(f"bank_marketing_{edition}"),
        return_X_y=return_X_y,
        as_frame=as_frame,
        extras={},
    )


def _download(data_home: str | PathLike[str] | None) -> pd.DataFrame:
    """Fetch the older edition, with the names of its columns and labels."""
    table = download_table(OPENML_ID, data_home, FILENAME)
    numbered = [*(f"V{i}" for i in range(1, len(OLDER_COLUMNS))), "Class"]
    table = require_columns(table, numbered, "OpenML's bank-marketing table")
    table = table.set_axis(list(OLDER_COLUMNS), axis=1)
    labels = table[TARGET].astype(str).map({"1": "no", "2": "yes"})
    return table.assign(y=labels)
