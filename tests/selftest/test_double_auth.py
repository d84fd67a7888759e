"""The double's basic authentication with hashed passwords, when several ask at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from tests.doubles.dataplane import auth

# openssl passwd -6 -salt together: "one", "two"
ONE = "$6$together$pQ.BqE8iFFeT2nfXyin/y2A2bJ7bgajW2dlN97JEF.DOLISiVqz4psWdjiKAZIlD4kigtMRaCI2uDsiIwI.Kn/"
TWO = "$6$together$QWKBa/Gs0mMz3NGwz1yFGvlbrS0D77JIgxZn8hbr24OipMLWWudjCsMMX.hkoWPh1O8JM4PCvVJKTLGmi2MGV/"


def test_hashed_passwords_of_requests_at_once() -> None:
    cases = [(password, stored, password_of == password) for password in ("one", "two") for password_of, stored in (("one", ONE), ("two", TWO))]
    with ThreadPoolExecutor(4) as pool:
        wrong = [case for case, matched in zip(cases * 50, pool.map(lambda case: auth._matches(case[0], case[1]), cases * 50))
                 if matched != case[2]]
    assert not wrong
