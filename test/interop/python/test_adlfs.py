"""adlfs, the file system of fsspec (and so of pandas, Dask and others) over blobs."""

import os
import tempfile
import unittest
from pathlib import Path

from adlfs import AzureBlobFileSystem
from server import CONNECTION_STRING, fresh_name


class FileSystemTests(unittest.TestCase):
    def setUp(self):
        self.files = AzureBlobFileSystem(connection_string=CONNECTION_STRING,
                                         skip_instance_cache=True)
        self.root = fresh_name("c")
        self.files.mkdir(self.root)
        self.addCleanup(self.files.rm, self.root, recursive=True)

    def found(self, folder=""):
        self.files.invalidate_cache()
        return sorted(name[len(self.root) + 1:] for name in self.files.find(self.root + folder))

    def test_writes_and_reads_a_file(self):
        path = f"{self.root}/folder/data.bin"
        content = os.urandom(3_000_000)
        with self.files.open(path, "wb", blocksize=1_000_000) as file:
            for start in range(0, len(content), 500_000):
                file.write(content[start:start + 500_000])
        self.assertEqual(self.files.size(path), len(content))
        with self.files.open(path, "rb", block_size=100_000) as file:
            file.seek(1_234_567)
            self.assertEqual(file.read(1000), content[1_234_567:1_235_567])
        self.assertEqual(self.files.cat_file(path, start=10, end=20), content[10:20])
        self.assertEqual(self.files.cat(path), content)

    def test_lists_folders_and_finds_by_pattern(self):
        for name in ("a/1.csv", "a/2.csv", "a/b/3.csv", "c.txt"):
            self.files.pipe(f"{self.root}/{name}", name.encode())
        self.files.invalidate_cache()
        listed = [each.rstrip("/") for each in self.files.ls(self.root, detail=False)]
        self.assertEqual(sorted(listed), [f"{self.root}/a", f"{self.root}/c.txt"])
        self.assertTrue(self.files.isdir(f"{self.root}/a/b"))
        self.assertEqual(self.files.info(f"{self.root}/c.txt")["type"], "file")
        self.assertEqual(sorted(self.files.glob(f"{self.root}/a/*.csv")),
                         [f"{self.root}/a/1.csv", f"{self.root}/a/2.csv"])
        self.assertEqual(self.found("/a"), ["a/1.csv", "a/2.csv", "a/b/3.csv"])

    def test_copies_moves_and_removes(self):
        self.files.pipe(f"{self.root}/one", b"content")
        self.files.cp_file(f"{self.root}/one", f"{self.root}/two")
        self.files.mv(f"{self.root}/one", f"{self.root}/folder/three")
        self.assertEqual(self.found(), ["folder/three", "two"])
        self.assertEqual(self.files.cat(f"{self.root}/folder/three"), b"content")
        self.files.rm(f"{self.root}/folder", recursive=True)
        self.assertEqual(self.found(), ["two"])
        with self.assertRaises(FileNotFoundError):
            self.files.cat(f"{self.root}/folder/three")

    def test_puts_and_gets_a_tree(self):
        with tempfile.TemporaryDirectory() as place:
            source, target = Path(place, "source"), Path(place, "target")
            for name in ("x.txt", "deep/y.txt"):
                Path(source, name).parent.mkdir(parents=True, exist_ok=True)
                Path(source, name).write_text(name)
            self.files.put(f"{source}/", f"{self.root}/tree/", recursive=True)
            self.assertEqual(self.found(), ["tree/deep/y.txt", "tree/x.txt"])
            self.files.get(f"{self.root}/tree/", f"{target}/", recursive=True)
            self.assertEqual(Path(target, "deep/y.txt").read_text(), "deep/y.txt")

    def test_appends_to_a_file(self):
        path = f"{self.root}/log"
        for line in (b"first\n", b"second\n"):
            with self.files.open(path, "ab") as file:
                file.write(line)
        self.files.invalidate_cache()
        self.assertEqual(self.files.cat(path), b"first\nsecond\n")


if __name__ == "__main__":
    unittest.main()
