"""Places of addresses, and distances between countries."""

from __future__ import annotations

import pytest

from attestlab.risk.logins.places import GeoLocator, PrefixLocator, min_distance_km


@pytest.fixture(scope="module")
def locator() -> GeoLocator:
    return GeoLocator()


@pytest.mark.parametrize(
    ("ip", "country"), [("8.8.8.8", "US"), ("2a01:4f8::1", "DE"), ("81.2.69.142", "GB"), ("46.99.0.1", "XK")]
)
def test_an_address_has_the_country_and_organisation_of_the_table(locator: GeoLocator, ip: str, country: str):
    place = locator.locate(ip)

    assert place.country == country
    assert place.network not in ("", ip)


@pytest.mark.parametrize("ip", ["10.1.2.3", "127.0.0.1", "::1", "fd00::1"])
def test_a_private_address_has_no_country(locator: GeoLocator, ip: str):
    place = locator.locate(ip)

    assert place.country is None
    assert "/" in place.network


@pytest.mark.parametrize("ip", ["164.61.210.34", "168.168.192.120"])
def test_a_region_of_the_table_is_no_country(locator: GeoLocator, ip: str):
    """The table names EU and ASIA where it knows no country."""
    place = locator.locate(ip)

    assert place.country is None
    assert place.network not in ("", ip)


def test_without_a_table_the_network_is_the_prefix():
    assert PrefixLocator().locate("2001:db8:1:2::3").network == "2001:db8:1::/48"


@pytest.mark.parametrize(
    ("first", "second", "km"), [("DE", "SG", 9500), ("US", "GB", 4400), ("FR", "DE", 0), ("XK", "SG", 9300)]
)
def test_distances_are_less_than_between_centres(first: str, second: str, km: int):
    """Two countries may be near at their borders: only the distance beyond both radii is certain."""
    assert min_distance_km(first, second) == pytest.approx(km, abs=700)


def test_distances_to_a_country_without_an_airport_are_unknown():
    assert min_distance_km("LI", "US") is None
