"""Tables that are studied: those that come with the package, and published ones."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any, Literal
from urllib.error import URLError

import numpy as np
import pandas as pd
from sklearn.datasets import fetch_openml
from sklearn.utils import Bunch

from skfair._utils._validation import check_flag

ADULT_FILENAME = "adult.csv.gz"
ADULT_OPENML_ID = 1590  # "adult", version 2; version 1 has its numbers cut into bins
ADULT_SOURCE = "adult.data and adult.test of https://doi.org/10.24432/C5XW20"
ADULT_TARGET = "income"
# fmt: off
ADULT_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status",
    "occupation", "relationship", "race", "sex", "capital-gain", "capital-loss",
    "hours-per-week", "native-country",
    ADULT_TARGET,
)
# fmt: on
ADULT_SENSITIVE_FEATURES = ("sex", "race", "native-country")

BANK_FILENAME = "bank_additional_full.csv.gz"
BANK_OPENML_ID = 1461  # "bank-marketing", version 1
BANK_SOURCE = "bank-additional-full.csv of https://doi.org/10.24432/C5K306"
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
# fmt: off
OULAD_COLUMNS = (
    "gender", "highest_education", "poverty", "age", "disability",
    "num_of_prev_attempts", "studied_credits", "sum_click",
    OULAD_TARGET,
)
# fmt: on
OULAD_PROBABILITIES = ("proba_DT", "proba_KN", "proba_LR", "proba_NB")
OULAD_SENSITIVE_FEATURES = ("gender", "poverty", "disability", "age")

OULAD_SOURCE = "https://analyse.kmi.open.ac.uk/open_dataset"
OULAD_ADVICE = (
    "There is no copy on OpenML. Get the Open University Learning Analytics dataset at "
    f"{OULAD_SOURCE}, prepare the course as the docstring of fetch_oulad tells, and "
    "save a gzip-compressed CSV file of that name with the columns "
    f"{', '.join(OULAD_COLUMNS)} (optional: split, {', '.join(OULAD_PROBABILITIES)})."
)
# Department, sex, admitted, rejected at Berkeley.
BERKELEY_COUNTS = (
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
    counts = pd.DataFrame(
        BERKELEY_COUNTS, columns=["department", "sex", "admitted", "rejected"]
    )
    outcomes = counts.rename(columns={"admitted": 1, "rejected": 0}).melt(
        ["department", "sex"], var_name="admitted", value_name="applicants"
    )
    outcomes = outcomes.sort_values(["department", "sex", "admitted"])
    rows = outcomes.loc[outcomes.index.repeat(outcomes["applicants"])]
    table = rows[["department", "sex", "admitted"]].reset_index(drop=True)
    dataset = make_dataset(
        make_categorical(table.astype({"admitted": "int64"})),
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


def fetch_adult(
    *,
    data_home: str | PathLike[str] | None = None,
    return_X_y: bool = False,
    as_frame: bool = True,
) -> Bunch | tuple[Any, Any]:
    """Load the Adult (Census Income) table: who earns more than 50,000 dollars.

    Reads ``adult.csv.gz`` in `data_home`, or in the directory named by the environment
    variable ``SKFAIR_DATA`` if that is set; otherwise downloads the table from OpenML,
    once, through :func:`sklearn.datasets.fetch_openml`. Both give the same columns,
    dtypes and categories. Rows come in the order of their source.

    ================  ==========================
    Samples           48,842
    Features          14, numeric and categorical
    Target            ``"<=50K"`` or ``">50K"``
    Sensitive         sex, race, native-country
    ================  ==========================

    Parameters
    ----------
    data_home : str or path-like, default=None
        Directory that has the file. If it has not, and ``SKFAIR_DATA`` is not set, the
        folder of the download, as in :func:`sklearn.datasets.fetch_openml`.
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
        If ``SKFAIR_DATA`` is set and has no ``adult.csv.gz``, nor has `data_home`.
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
    directory = find_directory(ADULT_FILENAME, data_home)
    if directory is None:
        advice = describe_file(ADULT_SOURCE, data_home, ADULT_FILENAME, ADULT_COLUMNS)
        table = download_table(ADULT_OPENML_ID, data_home, advice).rename(
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
    table = make_categorical(table)
    return make_dataset(
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

    - If `data_home` has the file ``bank_additional_full.csv.gz``, or the environment
      variable ``SKFAIR_DATA`` names a directory, which must have it: the edition
      *bank-additional-full* of 2014.
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
        Directory that has the file. If it has not, and ``SKFAIR_DATA`` is not set, the
        folder of the download, as in :func:`sklearn.datasets.fetch_openml`.
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
        If ``SKFAIR_DATA`` is set and has no ``bank_additional_full.csv.gz``, nor has
        `data_home`.
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
    directory = find_directory(BANK_FILENAME, data_home)
    if directory is None:
        edition, table = "older", _download_bank(data_home)
    else:
        advice = (
            "Add it, or unset SKFAIR_DATA to download the older edition, which has "
            "other rows and columns, from OpenML."
        )
        edition, table = "additional", read_table(directory, BANK_FILENAME, advice)
        table = require_columns(table, BANK_ADDITIONAL_COLUMNS, BANK_FILENAME)
    return make_dataset(
        make_categorical(table),
        target=BANK_TARGET,
        sensitive_features=BANK_SENSITIVE_FEATURES,
        descr=read_description(f"bank_marketing_{edition}"),
        return_X_y=return_X_y,
        as_frame=as_frame,
        extras={},
    )


def _download_bank(data_home: str | PathLike[str] | None) -> pd.DataFrame:
    """Fetch the older edition, with the names of its columns and labels."""
    advice = describe_file(
        BANK_SOURCE, data_home, BANK_FILENAME, BANK_ADDITIONAL_COLUMNS
    )
    table = download_table(BANK_OPENML_ID, data_home, advice)
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
    table = make_categorical(
        read_table(directory, OULAD_FILENAMES[course], OULAD_ADVICE)
    )
    extras: dict[str, Any] = {}
    if optional_columns(table, ["split"]):
        extras["split"] = table["split"]
    if probabilities := optional_columns(table, OULAD_PROBABILITIES):
        extras["probabilities"] = table[probabilities]
    table = require_columns(table, OULAD_COLUMNS, OULAD_FILENAMES[course])
    return make_dataset(
        table.astype({OULAD_TARGET: "int64"}),
        target=OULAD_TARGET,
        sensitive_features=OULAD_SENSITIVE_FEATURES,
        descr=read_description("oulad", course=course, size=f"{len(table):,}"),
        return_X_y=return_X_y,
        as_frame=as_frame,
        extras=extras,
    )


def data_directory() -> Path | None:
    """Return the directory that the variable ``SKFAIR_DATA`` names, if set."""
    directory = os.environ.get("SKFAIR_DATA")
    return Path(directory) if directory else None


def find_directory(filename: str, data_home: str | PathLike[str] | None) -> Path | None:
    """Return `data_home` if it has the file, else the directory of ``SKFAIR_DATA``."""
    if data_home is not None and (Path(data_home) / filename).is_file():
        return Path(data_home)
    return data_directory()


def find_file(directory: Path, filename: str, advice: str) -> Path:
    """Return the path of a file; `advice` ends the message if it is missing."""
    path = directory / filename
    if not path.is_file():
        tables = sorted(file.name for file in directory.glob("*.csv.gz"))
        contents = f"has {', '.join(tables)}" if tables else "has no .csv.gz file"
        if not directory.is_dir():
            contents = "does not exist"
        raise FileNotFoundError(
            f"{str(path)!r} not found: the directory {contents}. {advice}"
        )
    return path


def read_table(directory: Path, filename: str, advice: str) -> pd.DataFrame:
    """Read a gzip-compressed CSV file; `advice` ends the message if it is missing."""
    path = find_file(directory, filename, advice)
    # "None" and "NA" are ordinary categories in tables like these: only an empty
    # cell is missing.
    return pd.read_csv(path, keep_default_na=False, na_values=[""])


def describe_file(
    source: str,
    data_home: str | PathLike[str] | None,
    filename: str,
    columns: Sequence[str],
) -> str:
    """Write how to make the file that is read in place of a download."""
    path = Path(data_home or "") / filename
    return (
        f"Check the network, or save the rows of {source} as {str(path)!r}, a "
        "comma-separated file compressed by gzip, whose first line has the columns "
        f"{', '.join(columns)}. Then set data_home, or the environment variable "
        "SKFAIR_DATA, to its directory."
    )


def download_table(
    data_id: int, data_home: str | PathLike[str] | None, advice: str
) -> pd.DataFrame:
    """Fetch a table from OpenML; `advice` ends the message if that fails."""
    try:
        with warnings.catch_warnings():
            # A failure is reported once, below.
            warnings.filterwarnings("ignore", "A network error occurred")
            table = fetch_openml(
                data_id=data_id, data_home=data_home, as_frame=True, parser="auto"
            ).frame
    except (URLError, ConnectionError, TimeoutError) as error:
        raise ConnectionError(
            f"could not download table {data_id} from OpenML ({error}). {advice}"
        ) from error
    # OpenML does not distinguish integers from other numbers.
    return table.astype(dict.fromkeys(table.select_dtypes("number"), "int64"))


def require_columns(
    table: pd.DataFrame, columns: Sequence[str], source: str
) -> pd.DataFrame:
    """Select `columns`; raise a ValueError that names columns that `source` lacks."""
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise ValueError(
            f"{source} must have the columns {list(columns)}, got "
            f"{list(table.columns)} without {missing}."
        )
    return table[list(columns)]


def optional_columns(table: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """List the names in `columns` that the table has."""
    return [name for name in columns if name in table.columns]


def make_categorical(table: pd.DataFrame) -> pd.DataFrame:
    """Make every text column categorical, with the same spelling for all sources.

    Surrounding blanks are removed, ``"?"`` becomes missing, and categories are sorted.
    A categorical column keeps groups that have no rows in a fold.
    """
    table = table.copy()
    for name in table.select_dtypes(exclude="number").columns:
        text = table[name].astype(object).str.strip()
        table[name] = text.mask(text == "?", np.nan).astype("category")
    return table


def read_description(name: str, **values: str) -> str:
    """Read ``descr/name.rst``, and insert `values` for the names in braces."""
    text = (files("skfair.datasets") / "descr" / f"{name}.rst").read_text("utf-8")
    return text.format(**values)


def make_dataset(
    table: pd.DataFrame,
    *,
    target: str,
    sensitive_features: Sequence[str],
    descr: str,
    return_X_y: bool,
    as_frame: bool,
    extras: Mapping[str, Any],
) -> Any:
    """Return a table as scikit-learn's loaders do: a Bunch, or a tuple (X, y).

    `extras` are further columns or tables with the same rows.
    """
    check_flag("return_X_y", return_X_y)
    check_flag("as_frame", as_frame)
    features = table.drop(columns=target)
    rows = {"data": features, "target": table[target], **extras}
    if not as_frame:
        rows = {name: values.to_numpy() for name, values in rows.items()}
    if return_X_y:
        return rows["data"], rows["target"]
    return Bunch(
        **rows,
        frame=table if as_frame else None,
        feature_names=list(features.columns),
        target_names=[target],
        sensitive_features=list(sensitive_features),
        DESCR=descr,
    )
