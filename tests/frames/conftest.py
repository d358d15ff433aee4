"""Tables of every engine."""

from functools import cache
from itertools import count

import polars as pl
import pytest

NUMBERS = count()


@cache
def duckdb_connection():
    duckdb = pytest.importorskip("duckdb", reason="needs the extra duckdb")
    return duckdb.connect()


def as_duckdb(data):
    """Table of DuckDB, with enumerations where the columns have levels."""
    connection, name = duckdb_connection(), f"rows_{next(NUMBERS)}"
    connection.register("given", data.to_arrow())
    connection.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM given")
    for column, dtype in data.schema.items():
        if isinstance(dtype, pl.Enum):
            levels = ", ".join(f"'{level}'" for level in dtype.categories)
            connection.execute(
                f"ALTER TABLE {name} ALTER {column} TYPE ENUM ({levels})"
            )
    return connection.table(name)


@cache
def sqlframe_session():
    pytest.importorskip("sqlframe", reason="needs SQLFrame")
    duckdb = pytest.importorskip("duckdb", reason="needs the extra duckdb")
    from sqlframe.duckdb import DuckDBSession

    connection = duckdb.connect()
    return DuckDBSession(conn=connection), connection


def as_sqlframe(data):
    """Table of a DuckDB session; literals would be parsed for seconds."""
    session, connection = sqlframe_session()
    name = f"loans_{next(NUMBERS)}"
    connection.register("rows_of_loans", data.to_arrow())
    connection.execute(f"CREATE TABLE {name} AS SELECT * FROM rows_of_loans")
    return session.table(name)


def as_dask(data):
    dask = pytest.importorskip("dask", reason="needs Dask")
    dataframe = pytest.importorskip("dask.dataframe", reason="needs dask.dataframe")
    dask.config.set(scheduler="synchronous")
    return dataframe.from_pandas(data.to_pandas(), npartitions=3)


@pytest.fixture(scope="session")
def table_in():
    """Function that makes the table of an engine, by its name, of one of Polars."""
    engines = {
        "pandas": pl.DataFrame.to_pandas,
        "pandas of PyArrow": lambda data: data.to_pandas(
            use_pyarrow_extension_array=True
        ),
        "polars": lambda data: data,
        "polars lazy": pl.DataFrame.lazy,
        "pyarrow": pl.DataFrame.to_arrow,
        "duckdb": as_duckdb,
        "sqlframe": as_sqlframe,
        "dask": as_dask,
    }
    return lambda engine, data: engines[engine](data)
