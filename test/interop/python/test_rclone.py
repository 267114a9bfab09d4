"""rclone, which synchronises trees of files with stores of objects."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from server import ACCOUNT, KEY, SETTINGS, fresh_name

RCLONE = Path(sys.executable).with_name("rclone")


class RcloneTests(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.root = f"here:{fresh_name('c')}"
        self.environment = {
            **os.environ,
            "RCLONE_CONFIG": str(self.folder / "none.conf"),
            "RCLONE_CONFIG_HERE_TYPE": "azureblob",
            "RCLONE_CONFIG_HERE_ACCOUNT": ACCOUNT,
            "RCLONE_CONFIG_HERE_KEY": KEY,
            "RCLONE_CONFIG_HERE_ENDPOINT": SETTINGS["BlobEndpoint"],
        }
        self.tree = self.folder / "tree"
        for name, content in {
            "a.txt": b"a",
            "empty": b"",
            "deep/ü +%.bin": os.urandom(9_000_000),
        }.items():
            path = self.tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def rclone(self, *words):
        answer = subprocess.run([RCLONE, "--retries", "1", *map(str, words)], check=False,
                                capture_output=True, env=self.environment)
        self.assertEqual(answer.returncode, 0, answer.stderr.decode())
        return answer.stdout.decode()

    def listed(self, place):
        return sorted(self.rclone("lsf", "--recursive", "--files-only", place).splitlines())

    def test_synchronises_a_tree_both_ways(self):
        self.rclone("sync", self.tree, f"{self.root}/in")
        self.rclone("check", "--download", self.tree, f"{self.root}/in")
        self.assertEqual(self.listed(f"{self.root}/in"), ["a.txt", "deep/ü +%.bin", "empty"])
        (self.tree / "a.txt").write_text("changed")
        (self.tree / "empty").unlink()
        self.rclone("sync", self.tree, f"{self.root}/in")
        self.assertEqual(self.listed(f"{self.root}/in"), ["a.txt", "deep/ü +%.bin"])
        self.rclone("copy", f"{self.root}/in", self.folder / "back")
        self.assertEqual((self.folder / "back/a.txt").read_text(), "changed")
        self.rclone("purge", self.root)

    def test_copies_and_moves_without_the_bytes(self):
        self.rclone("copy", self.tree, f"{self.root}/one")
        self.rclone("copy", f"{self.root}/one", f"{self.root}/two")
        self.rclone("check", f"{self.root}/one", f"{self.root}/two")
        self.rclone("moveto", f"{self.root}/two/a.txt", f"{self.root}/two/b.txt")
        self.assertEqual(self.listed(f"{self.root}/two"), ["b.txt", "deep/ü +%.bin", "empty"])
        self.assertEqual(self.rclone("cat", f"{self.root}/two/b.txt"), "a")
        self.rclone("settier", "Cool", f"{self.root}/two/b.txt")
        self.rclone("purge", self.root)
