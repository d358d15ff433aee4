"""The quick tests on every Python, with the oldest and the newest dependencies.

`nox --session prereleases` runs them with versions that are not released yet, and
`nox --session coverage` counts the lines that they run.
"""

import os

import nox

nox.options.default_venv_backend = "uv"
nox.options.sessions = ["quick"]
nox.options.error_on_missing_interpreters = False  # a missing one is skipped, and named

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
#: The lower bounds of pyproject.toml, and the newest releases.
RESOLUTIONS = {"oldest": "lowest-direct", "newest": "highest"}
#: The Python whose newest versions .ci/run has tested already, with coverage.
TESTED = os.environ.get("SKFAIR_TESTED_PYTHON")


@nox.session(python=PYTHONS)
@nox.parametrize("resolution", [*RESOLUTIONS.values()], ids=[*RESOLUTIONS])
def quick(session: nox.Session, resolution: str) -> None:
    """Run the quick tests."""
    if (session.python, resolution) == (TESTED, "highest"):
        session.skip("these versions have been tested")
    # The oldest that this Python has a wheel of: some lower bounds are older than it.
    run_tests(session, "--resolution", resolution)


@nox.session
def prereleases(session: nox.Session) -> None:
    """Run the quick tests with the next versions of all dependencies."""
    run_tests(session, "--prerelease", "allow")


@nox.session
def coverage(session: nox.Session) -> None:
    """Check that the quick tests run 95 % of the lines and branches."""
    session.install("pytest-cov>=5")
    run_tests(session, options=("--cov", "--cov-report=term:skip-covered"))


def run_tests(
    session: nox.Session, *versions: str, options: tuple[str, ...] = ()
) -> None:
    """Install dependencies, of which `versions` says which, and run the quick tests."""
    wheels = ("--only-binary", ":all:", *versions)
    session.install("-r", "pyproject.toml", "--extra", "test", *wheels)
    session.install("--no-deps", "-e", ".")
    session.run("python", "-m", "pytest", *options, *session.posargs)
