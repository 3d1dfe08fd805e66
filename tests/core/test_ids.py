"""Ids begin with their time, contain random bits, and are unique across threads and forks."""

import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import UUID

from ulid import ULID

from attestlab.core.ids import new_id, new_ids, new_ulid

NOW = datetime(2026, 11, 21, 12, 0, 0, 123_000, tzinfo=UTC)


def test_id_is_a_uuid7_with_its_millisecond():
    made = new_id(NOW)

    assert (made.version, made.variant) == (7, "specified in RFC 4122")
    assert made.int >> 80 == int(NOW.timestamp() * 1000)
    assert made == UUID(str(made))
    assert hash(made) == hash(UUID(str(made)))
    assert pickle.loads(pickle.dumps(made)) == made


def test_ids_that_are_made_together_are_as_ids_that_are_made_alone():
    made = new_ids(NOW, 2_000)

    assert {(each.version, each.variant, each.int >> 80) for each in made} == {
        (7, "specified in RFC 4122", int(NOW.timestamp() * 1000))
    }
    assert len(set(made)) == 2_000
    assert all(850 < sum(each.int >> bit & 1 for each in made) < 1_150 for bit in range(76) if bit not in (62, 63))


def test_ids_sort_by_time():
    made = [str(new_id(NOW + timedelta(milliseconds=step))) for step in range(50)]

    assert made == sorted(made)


def test_every_random_bit_of_an_id_is_drawn():
    """Of 2,000 ids each of the 74 bits is set in about half: fewer than 850 would be seven standard deviations off."""
    made = [new_id(NOW).int for _ in range(2_000)]

    bits = [bit for bit in range(76) if bit not in (62, 63)]
    assert all(850 < sum(value >> bit & 1 for value in made) < 1_150 for bit in bits)


def test_threads_never_get_the_same_id():
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: new_id(NOW), range(20_000)))

    assert len(set(made)) == 20_000


def test_forked_worker_gets_other_ids_than_its_parent():
    new_id(NOW)  # so that some are drawn before the fork
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, b" ".join(str(new_id(NOW)).encode() for _ in range(100)))
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        theirs = set(pipe.read().split())

    assert len(theirs) == 100
    assert theirs.isdisjoint(str(new_id(NOW)) for _ in range(100))


def test_ulid_contains_its_millisecond():
    assert ULID.from_str(new_ulid(NOW)).datetime == NOW


def test_every_random_bit_of_a_ulid_is_drawn():
    made = [int.from_bytes(ULID.from_str(new_ulid(NOW)).bytes) for _ in range(2_000)]

    assert {value >> 80 for value in made} == {int(NOW.timestamp() * 1000)}
    assert all(850 < sum(value >> bit & 1 for value in made) < 1_150 for bit in range(80))
