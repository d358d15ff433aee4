"""Published tables, from a local directory or from OpenML."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, Literal

import pandas as pd
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

ADULT_FILENAME = "adult.csv.gz"
ADULT_OPENML_ID = 1590  # "adult", version 2; version 1 has its numbers cut into bins
ADULT_TARGET = "income"
ADULT_COLUMNS = (
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
    ADULT_TARGET,
)
ADULT_SENSITIVE_FEATURES = ("sex", "race", "native-country")

BANK_FILENAME = "bank_additional_full.csv.gz"
BANK_OPENML_ID = 1461  # "bank-marketing", version 1
BANK_TARGET = "y"
# fmt: off
BANK_ADDITIONAL_COLUMNS = (
    "age", "job", "marital", "education", "default", "housing", "loan", "contact",
    "month", "day_of_week", "duration", "campaign", "pdays", "previous", "poutcome",
    "emp.var.rate", "cons.price.idx", "cons.conf.idx", "euribor3m", "nr.employed",
    BANK_TARGET,
)
# OpenML calls these V1 to V16 and Class, in this order.
BANK_OLDER_COLUMNS = (
    "age", "job", "marital", "education", "default", "balance", "housing", "loan",
    "contact", "day", "month", "duration", "campaign", "pdays", "previous", "poutcome",
    BANK_TARGET,
)
# fmt: on
BANK_SENSITIVE_FEATURES = ("age", "marital", "education")

OULAD_FILENAMES = {"BBB": "oulad_madd_bbb.csv.gz", "FFF": "oulad_madd_fff.csv.gz"}
OULAD_TARGET = "final_result"
OULAD_COLUMNS = (
    "gender",
    "highest_education",
    "poverty",
    "age",
    "disability",
    "num_of_prev_attempts",
    "studied_credits",
    "sum_click",
    OULAD_TARGET,
)
OULAD_PROBABILITIES = ("proba_DT", "proba_KN", "proba_LR", "proba_NB")
OULAD_SENSITIVE_FEATURES = ("gender", "poverty", "disability", "age")

OULAD_SOURCE = "https://analyse.kmi.open.ac.uk/open_dataset"
OULAD_ADVICE = (
    "There is no copy on OpenML. Get the Open University Learning Analytics dataset at "
    f"{OULAD_SOURCE}, prepare the course as the docstring of fetch_oulad tells, and "
    "save a gzip-compressed CSV file of that name with the columns "
    f"{', '.join(OULAD_COLUMNS)} (optional: split, {', '.join(OULAD_PROBABILITIES)})."
)


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
        table = download_table(ADULT_OPENML_ID, data_home, ADULT_FILENAME).rename(
            columns={"class": ADULT_TARGET}
        )
    else:
        advice = "Add it, or unset SKFAIR_DATA to download the table from OpenML."
        table = read_table(directory, ADULT_FILENAME, advice)
    split = optional_columns(table, ["split"])
    table = require_columns(table, [*ADULT_COLUMNS, *split], "The Adult table")
    # The test part of the original ends its labels with a full stop.
    table = table.assign(
        income=table[ADULT_TARGET].astype(str).str.strip().str.rstrip(".")
    )
    table = with_categories(table)
    return as_dataset(
        table.drop(columns=split),
        target=ADULT_TARGET,
        sensitive_features=ADULT_SENSITIVE_FEATURES,
        descr=read_description("adult"),
        return_X_y=return_X_y,
        as_frame=as_frame,
        extras={name: table[name] for name in split},
    )


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
        edition, table = "older", _download_bank(data_home)
    else:
        advice = (
            "Add it, or unset SKFAIR_DATA to download the older edition, which has "
            "other rows and columns, from OpenML."
        )
        edition, table = "additional", read_table(directory, BANK_FILENAME, advice)
        table = require_columns(table, BANK_ADDITIONAL_COLUMNS, BANK_FILENAME)
    return as_dataset(
        with_categories(table),
        target=BANK_TARGET,
        sensitive_features=BANK_SENSITIVE_FEATURES,
        descr=read_description(f"bank_marketing_{edition}"),
        return_X_y=return_X_y,
        as_frame=as_frame,
        extras={},
    )


def _download_bank(data_home: str | PathLike[str] | None) -> pd.DataFrame:
    """Fetch the older edition, with the names of its columns and labels."""
    table = download_table(BANK_OPENML_ID, data_home, BANK_FILENAME)
    numbered = [*(f"V{i}" for i in range(1, len(BANK_OLDER_COLUMNS))), "Class"]
    table = require_columns(table, numbered, "OpenML's bank-marketing table")
    table = table.set_axis(list(BANK_OLDER_COLUMNS), axis=1)
    labels = table[BANK_TARGET].astype(str).map({"1": "no", "2": "yes"})
    return table.assign(y=labels)


def fetch_oulad(
    *,
    course: Literal["BBB", "FFF"] = "BBB",
    data_home: str | PathLike[str] | None = None,
    return_X_y: bool = False,
    as_frame: bool = True,
) -> Bunch | tuple[Any, Any]:
    """Load a course of the Open University: which students pass.

    Reads ``oulad_madd_bbb.csv.gz`` or ``oulad_madd_fff.csv.gz`` from a local
    directory; nothing is downloaded, since there is no copy on OpenML. See Notes for
    how to make the files.

    ================  =================================
    Samples           5,299 (BBB) or 4,740 (FFF)
    Features          8, numeric, in [0, 1]
    Target            1 (passed) or 0
    Sensitive         gender, poverty, disability, age
    ================  =================================

    Parameters
    ----------
    course : {"BBB", "FFF"}, default="BBB"
        Which course: BBB is in the social sciences, FFF in STEM.
    data_home : str or path-like, default=None
        Directory that has the file; by default the one named by the environment
        variable ``SKFAIR_DATA``.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=True
        Return pandas objects, otherwise NumPy arrays.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        With these attributes:

        data : DataFrame or ndarray of shape (n_samples, 8)
            The features, as floats.
        target : Series or ndarray of shape (n_samples,)
            1 if the student passed, else 0.
        frame : DataFrame of shape (n_samples, 9) or None
            `data` and `target`; only with ``as_frame=True``.
        feature_names : list of str
            Names of the features.
        target_names : list of str
            Name of the target, ``["final_result"]``.
        sensitive_features : list of str
            ``["gender", "poverty", "disability", "age"]``.
        split : Series or ndarray of shape (n_samples,)
            ``"train"`` or ``"test"`` in the MADD papers; only if the file has it.
        probabilities : DataFrame or ndarray of shape (n_samples, 4)
            P(target = 1) by the papers' models, columns proba_DT, proba_KN, proba_LR
            and proba_NB, NaN in the training rows; only if the file has them.
        DESCR : str
            Source, citation, licence and known caveats; read the one on the mixed
            arrays before you compare with printed MADD values.

    (data, target) : tuple
        If `return_X_y` is True.

    Raises
    ------
    ValueError
        If `course` is not one of the two, or the table lacks a column.
    FileNotFoundError
        If no directory is given, or it does not have the file.

    See Also
    --------
    fetch_adult : Incomes, by sex and race.
    fetch_bank_marketing : Clients of a bank, by age, marital status and education.

    Notes
    -----
    The preparation is that of the MADD papers [2]_. From the dataset's
    ``studentInfo``, joined with each student's sum of clicks: drop the rows without
    ``imd_band`` and those with the result Withdrawn, keep the first row of each
    student over all courses, then the rows of the course. Encode gender (1 = M),
    disability (1 = Y), poverty (1 = ``imd_band`` below 50 %), age (0-35, 35-55, 55<=
    as 0, 1, 2), highest_education (its rank) and final_result (1 = Pass or
    Distinction), and scale every column to [0, 1].

    References
    ----------
    .. [1] Kuzilek J., Hlosta M., Zdrahal Z. (2017). Open University Learning
       Analytics dataset. Scientific Data 4, 170171. :doi:`10.1038/sdata.2017.171`.
       https://analyse.kmi.open.ac.uk/open_dataset
    .. [2] Verger M., Lalle S., Bouchet F., Luengo V. (2023). Is Your Model "MADD"? A
       Novel Metric to Evaluate Algorithmic Fairness for Predictive Student Models.
       EDM 2023.

    Examples
    --------
    >>> from skfair.datasets import fetch_oulad
    >>> students = fetch_oulad(course="FFF")  # doctest: +SKIP
    >>> students.data.shape  # doctest: +SKIP
    (4740, 8)
    >>> test = students.split == "test"  # doctest: +SKIP
    >>> students.probabilities[test].shape  # doctest: +SKIP
    (1422, 4)
    """
    if course not in OULAD_FILENAMES:
        raise ValueError(f"course must be 'BBB' or 'FFF', got {course!r}.")
    directory = data_directory() if data_home is None else Path(data_home)
    if directory is None:
        raise FileNotFoundError(
            f"{OULAD_FILENAMES[course]!r} not found: neither data_home nor the "
            f"environment variable SKFAIR_DATA names a directory. {OULAD_ADVICE}"
        )
    table = with_categories(
        read_table(directory, OULAD_FILENAMES[course], OULAD_ADVICE)
    )
    extras: dict[str, Any] = {}
    if optional_columns(table, ["split"]):
        extras["split"] = table["split"]
    if probabilities := optional_columns(table, OULAD_PROBABILITIES):
        extras["probabilities"] = table[probabilities]
    table = require_columns(table, OULAD_COLUMNS, OULAD_FILENAMES[course])
    return as_dataset(
        table.astype({OULAD_TARGET: "int64"}),
        target=OULAD_TARGET,
        sensitive_features=OULAD_SENSITIVE_FEATURES,
        descr=read_description("oulad", course=course, size=f"{len(table):,}"),
        return_X_y=return_X_y,
        as_frame=as_frame,
        extras=extras,
    )
