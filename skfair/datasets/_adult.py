"""The Adult (Census Income) table."""

from __future__ import annotations

from os import PathLike
from typing import Any

from sklearn.utils import Bunch

from skfair.datasets._tables import (
    as_dataset,
    data_directory,
    download_table,
    optional_columns,
    read_description,
    read_table,
    require_columns,
    with_categories,
)

FILENAME = "adult.csv.gz"
OPENML_ID = 1590  # "adult", version 2; version 1 has its numbers cut into bins
TARGET = "income"
COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    TARGET,
)
SENSITIVE_FEATURES = ("sex", "race", "native-country")


def fetch_adult(
    *,
    data_home: str | PathLike[str] | None = None,
    return_X_y: bool = False,
    as_frame: bool = True,
) -> Bunch | tuple[Any, Any]:
    """Load the Adult (Census Income) table: who earns more than 50,000 dollars.

    Reads ``adult.csv.gz`` in the directory named by the environment variable
    ``SKFAIR_DATA`` if that is set; otherwise downloads the table from OpenML, once,
    through :func:`sklearn.datasets.fetch_openml`. Both give the same columns, dtypes
    and categories. Rows come in the order of their source.

    ================  ==========================
    Samples           48,842
    Features          14, numeric and categorical
    Target            ``"<=50K"`` or ``">50K"``
    Sensitive         sex, race, native-country
    ================  ==========================

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

        data : DataFrame or ndarray of shape (48842, 14)
            The features. Missing values are NaN; no row is left out.
        target : Series or ndarray of shape (48842,)
            The income class.
        frame : DataFrame of shape (48842, 15) or None
            `data` and `target`; only with ``as_frame=True``.
        feature_names : list of str
            Names of the features.
        target_names : list of str
            Name of the target, ``["income"]``.
        sensitive_features : list of str
            ``["sex", "race", "native-country"]``.
        split : Series or ndarray of shape (48842,)
            The original split, ``"train"`` or ``"test"``. Only if the local file has
            this column, which OpenML's table lacks.
        DESCR : str
            Source, citation, licence and known caveats.

    (data, target) : tuple
        If `return_X_y` is True.

    Raises
    ------
    FileNotFoundError
        If ``SKFAIR_DATA`` is set and has no ``adult.csv.gz``.
    ConnectionError
        If the table cannot be downloaded.
    ValueError
        If the table lacks a column.

    See Also
    --------
    fetch_bank_marketing : Clients of a bank, by age, marital status and education.
    fetch_oulad : Students, by gender, poverty, disability and age.
    load_berkeley_admissions : A small table that comes with the package.

    References
    ----------
    .. [1] Becker B., Kohavi R. (1996). Adult. UCI Machine Learning Repository.
       :doi:`10.24432/C5XW20`

    Examples
    --------
    >>> from skfair.datasets import fetch_adult
    >>> adult = fetch_adult()  # doctest: +SKIP
    >>> adult.data.shape  # doctest: +SKIP
    (48842, 14)
    >>> adult.data[adult.sensitive_features].isna().sum().to_dict()  # doctest: +SKIP
    {'sex': 0, 'race': 0, 'native-country': 857}
    """
    directory = data_directory()
    if directory is None:
        table = download_table(OPENML_ID, data_home, FILENAME).rename(
            columns={"class": TARGET}
        )
    else:
        advice = "Add it, or unset SKFAIR_DATA to download the table from OpenML."
        table = read_table(directory, FILENAME, advice)
    split = optional_columns(table, ["split"])
    table = require_columns(table, [*COLUMNS, *split], "The Adult table")
    # The test part of the original ends its labels with a full stop.
    table = table.assign(income=table[TARGET].astype(str).str.strip().str.rstrip("."))
    table = with_categories(table)
    return as_dataset(
        table.drop(columns=split),
        target=TARGET,
        sensitive_features=SENSITIVE_FEATURES,
        descr=read_description("adult"),
        return_X_y=return_X_y,
        as_frame=as_frame,
        extras={name: table[name] for name in split},
    )
