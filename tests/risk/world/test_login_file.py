"""The loader of the login data set of Wiefling et al., with three rows in its form."""

from __future__ import annotations

from pathlib import Path

import pytest

from attestlab.demos.risk_world.records import Kind, LabelledLogin
from attestlab.risk.logins.places import IpLocation
from benchmarks.detection.login_file import LoginFile

HEAD = (
    "index,Login Timestamp,User ID,Round-Trip Time [ms],IP Address,Country,Region,City,ASN,User Agent String,"
    "Browser Name and Version,OS Name and Version,Device Type,Login Successful,Is Attack IP,Is Account Takeover"
)
ROWS = (
    "0,2020-02-03 12:43:30.772,-43,,10.0.65.171,NO,-,-,29695,(iPhone),Firefox 20,iOS 13,mobile,False,False,False",
    "1,2020-02-03 12:43:43.549,-43,40,194.87.207.6,AU,-,-,60117,,Chrome 46,Android 4,mobile,False,True,False",
    "2,2020-02-03 12:43:55.873,-32,,81.167.144.58,ZZ,-,-,29695,(iPad),Android 2,iOS 7,mobile,True,False,True",
)


@pytest.fixture
def file(tmp_path: Path) -> LoginFile:
    path = tmp_path / "rba-dataset.csv"
    path.write_text("\n".join([HEAD, *ROWS]))
    return LoginFile(path)


def test_rows_become_logins_with_their_truth(file: LoginFile):
    rows: list[LabelledLogin] = list(file.logins())

    assert [each.kind for each in rows] == [Kind.ORDINARY, Kind.STUFFING, Kind.TAKEOVER]
    assert [each.login.is_failure for each in rows] == [True, True, False]
    assert rows[0].login.occurred_at.isoformat() == "2020-02-03T12:43:30.772000+00:00"
    assert rows[1].login.user_agent is None


def test_the_network_is_the_column_of_the_row(file: LoginFile):
    places = [file.locate(each.login.ip or "") for each in file.logins()]

    assert places == [IpLocation("AS29695", "NO"), IpLocation("AS60117", "AU"), IpLocation("AS29695", None)]
