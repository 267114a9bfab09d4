"""Which partition of Event Hubs a key goes to, beside what the client computes."""

import json
import os
import random
import subprocess
import unittest
from pathlib import Path

from azure.eventhub._buffered_producer._partition_resolver import (
    PartitionResolver,
    generate_hash_code,
)

PROGRAM = Path(__file__).with_name("event_hubs_places.js")
KEYS = 10_000
HIGHEST = (0x7F, 0xFF, 0xFFFF, 0x10FFFF)


def key_of(draw) -> str:
    """A text of every length of tail, of one plane or another, lone surrogates among them."""
    length = draw.choice((0, draw.randrange(14), draw.randrange(60), draw.randrange(500)))
    highest = draw.choice(HIGHEST)
    points = [draw.randint(0, highest) for _ in range(length)]
    # A pair of surrogates is one character on the other side of JSON.
    return "".join(map(chr, points)).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


class PartitionTests(unittest.TestCase):
    def test_keys_go_where_the_client_sends_them(self):
        seed = int.from_bytes(os.urandom(4), "big")
        draw = random.Random(seed)
        asked = [(key_of(draw), draw.randint(1, 1024)) for _ in range(KEYS)]
        told = subprocess.run([os.environ["TABULARIUM_NODE"], PROGRAM], check=True,
                              input=json.dumps(asked), capture_output=True, text=True)
        for (key, partitions), place in zip(asked, json.loads(told.stdout), strict=True):
            resolver = PartitionResolver(list(range(partitions)))
            expected = [generate_hash_code(key), resolver.get_partition_id_by_partition_key(key)]
            self.assertEqual(place, expected, f"seed {seed}: {key!r} of {partitions}")


if __name__ == "__main__":
    unittest.main()
