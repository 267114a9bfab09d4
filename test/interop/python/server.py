"""Where the server is that the tests talk to, and what several of them need.

`npm run test:interop` puts the connection strings of its servers into the environment.
"""

import os
import time
import urllib.error
import urllib.request
import uuid
from datetime import datetime, timedelta, timezone

CONNECTION_STRING = os.environ["TABULARIUM_CONNECTION_STRING"]
TLS_CONNECTION_STRING = os.environ["TABULARIUM_TLS_CONNECTION_STRING"]
CERTIFICATE = os.environ["TABULARIUM_CA"]
TOKEN = os.environ["TABULARIUM_TOKEN"]


def settings_of(connection_string):
    return dict(part.split("=", 1) for part in connection_string.strip(";").split(";"))


SETTINGS = settings_of(CONNECTION_STRING)
ACCOUNT = SETTINGS["AccountName"]
KEY = SETTINGS["AccountKey"]


def fresh_name(letter="t") -> str:
    """A name of a table, a queue or a container that no other test uses."""
    return letter + uuid.uuid4().hex


def in_hours(hours: int) -> datetime:
    return datetime.now(timezone.utc) + timedelta(hours=hours)


def eventually(condition, complaint: str):
    """Waits until the condition gives something true, and returns that."""
    deadline = time.monotonic() + 30
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise AssertionError(complaint)
        time.sleep(0.1)


def ask(method: str, url: str, headers: dict):
    """What a browser would do without any client: the status and the headers of the answer."""
    request = urllib.request.Request(url, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.headers
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.headers
