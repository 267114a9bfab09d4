"""Containers and blobs of every type, with the official client."""

import hashlib
import os
import tempfile
import unittest

from azure.core import MatchConditions
from azure.storage.blob import BlobBlock, BlobType, ContentSettings, PublicAccess
from blob_case import LARGE, MIB, BlobCase
from server import eventually, fresh_name


def digest_of(file):
    file.seek(0)
    digest = hashlib.sha256()
    while piece := file.read(MIB):
        digest.update(piece)
    return digest.digest()


class ContainerTests(BlobCase):
    def test_is_created_listed_and_deleted(self):
        name = fresh_name("c")
        made = self.service.create_container(name, metadata={"purpose": "test"})
        found = list(self.service.list_containers(name_starts_with=name, include_metadata=True))
        self.assertEqual([(each.name, each.metadata) for each in found],
                         [(name, {"purpose": "test"})])
        with self.refused(409, "ContainerAlreadyExists"):
            self.service.create_container(name)
        made.set_container_metadata({"purpose": "other"})
        self.assertEqual(made.get_container_properties().metadata, {"purpose": "other"})
        made.delete_container()
        self.assertFalse(made.exists())
        with self.refused(404, "ContainerNotFound"):
            made.get_container_properties()

    def test_keeps_its_policies(self):
        self.container.set_container_access_policy({}, public_access=PublicAccess.BLOB)
        policy = self.container.get_container_access_policy()
        self.assertEqual(policy["public_access"], "blob")

    def test_lists_pages_prefixes_and_folders(self):
        names = sorted(f"{folder}/{number}" for folder in "ab" for number in range(4)) + ["c d+é"]
        for name in names:
            self.uploaded(name)
        pages = list(self.container.list_blobs(results_per_page=3).by_page())
        self.assertEqual([[each.name for each in page] for page in pages],
                         [names[0:3], names[3:6], names[6:9]])
        self.assertEqual(list(self.container.list_blob_names(name_starts_with="b/")), names[4:8])
        self.assertEqual([each.name for each in self.container.walk_blobs(delimiter="/")],
                         ["a/", "b/", "c d+é"])

    def test_deletes_blobs_in_a_batch(self):
        names = [f"blob {number}" for number in range(20)]
        for name in names:
            self.uploaded(name)
        answers = list(self.container.delete_blobs(*names[:19], "none",
                                                   raise_on_any_failure=False))
        self.assertEqual([each.status_code for each in answers], [202] * 19 + [404])
        self.assertEqual(list(self.container.list_blob_names()), names[19:])


class BlockBlobTests(BlobCase):
    def test_keeps_content_headers_and_metadata(self):
        settings = ContentSettings(content_type="text/plain", content_language="cs",
                                   cache_control="no-cache", content_disposition="inline")
        blob = self.uploaded("žluťoučký kůň/🐎", b"neigh", content_settings=settings,
                             metadata={"Sound": "loud"})
        self.assertEqual(blob.download_blob().readall(), b"neigh")
        found = blob.get_blob_properties()
        self.assertEqual(found.size, 5)
        self.assertEqual(found.metadata, {"Sound": "loud"})
        self.assertEqual(found.content_settings.content_type, "text/plain")
        self.assertEqual(found.content_settings.content_language, "cs")
        self.assertEqual(found.content_settings.cache_control, "no-cache")
        self.assertEqual(found.content_settings.content_disposition, "inline")
        self.assertEqual(bytes(found.content_settings.content_md5), hashlib.md5(b"neigh").digest())
        blob.delete_blob()
        with self.refused(404, "BlobNotFound"):
            blob.download_blob()

    def test_goes_up_and_down_in_blocks_of_parallel_workers(self):
        blob = self.container.get_blob_client("large")
        with tempfile.TemporaryFile() as sent, tempfile.TemporaryFile() as received:
            for _ in range(LARGE // MIB):
                sent.write(os.urandom(MIB))
            sent.write(b"the rest")
            sent.seek(0)
            blob.upload_blob(sent, max_concurrency=4, validate_content=False)
            self.assertGreater(len(blob.get_block_list("committed")[0]), 4)
            size = blob.download_blob(max_concurrency=4).readinto(received)
            self.assertEqual(size, LARGE + 8)
            self.assertEqual(digest_of(received), digest_of(sent))

    def test_is_put_together_of_blocks_that_are_staged(self):
        blob = self.container.get_blob_client("blocks")
        for name in ("one", "two", "six"):
            blob.stage_block(name, name.encode(), validate_content=True)
        self.assertEqual(len(blob.get_block_list("uncommitted")[1]), 3)
        blob.commit_block_list([BlobBlock("six"), BlobBlock("one")])
        self.assertEqual(blob.download_blob().readall(), b"sixone")
        with self.refused(400, "InvalidBlockList"):
            blob.commit_block_list([BlobBlock("two")])

    def test_is_read_by_ranges(self):
        blob = self.uploaded("ranges", bytes(range(256)))
        self.assertEqual(blob.download_blob(10, 5).readall(), bytes(range(10, 15)))
        self.assertEqual(blob.download_blob(250, 50).readall(), bytes(range(250, 256)))
        self.assertEqual(blob.download_blob(10, 5, validate_content=True).readall(),
                         bytes(range(10, 15)))
        with self.refused(416, "InvalidRange"):
            blob.download_blob(256, 1)
        self.assertEqual(self.uploaded("empty", b"").download_blob().readall(), b"")

    def test_is_written_under_conditions(self):
        blob = self.uploaded("conditions")
        with self.refused(409, "BlobAlreadyExists"):
            blob.upload_blob(b"again")
        first = blob.get_blob_properties().etag
        blob.upload_blob(b"second", overwrite=True, etag=first,
                         match_condition=MatchConditions.IfNotModified)
        with self.refused(412, "ConditionNotMet"):
            blob.upload_blob(b"third", overwrite=True, etag=first,
                             match_condition=MatchConditions.IfNotModified)
        with self.refused(412, "ConditionNotMet"):
            blob.download_blob(etag=first, match_condition=MatchConditions.IfNotModified)
        self.assertEqual(blob.download_blob().readall(), b"second")

    def test_is_written_with_its_lease_alone(self):
        blob = self.uploaded("leased")
        lease = blob.acquire_lease(15)
        with self.refused(412, "LeaseIdMissing"):
            blob.upload_blob(b"other", overwrite=True)
        with self.refused(409, "LeaseAlreadyPresent"):
            blob.acquire_lease(15)
        blob.upload_blob(b"mine", overwrite=True, lease=lease)
        lease.renew()
        lease.change("5b7a2b1e-6d39-4d49-8b0e-000000000001")
        self.assertEqual(blob.get_blob_properties().lease.state, "leased")
        lease.release()
        blob.upload_blob(b"anybody's", overwrite=True)
        other = blob.acquire_lease()
        self.assertEqual(other.break_lease(0), 0)
        blob.delete_blob()

    def test_keeps_its_snapshots(self):
        blob = self.uploaded("seen", b"before")
        taken = blob.create_snapshot()
        blob.upload_blob(b"after", overwrite=True)
        snapshot = self.container.get_blob_client("seen", snapshot=taken["snapshot"])
        self.assertEqual(snapshot.download_blob().readall(), b"before")
        self.assertEqual(len(list(self.container.list_blobs(include=["snapshots"]))), 2)
        with self.refused(409, "SnapshotsPresent"):
            blob.delete_blob()
        blob.delete_blob(delete_snapshots="include")
        self.assertEqual(list(self.container.list_blobs(include=["snapshots"])), [])

    def test_is_found_by_its_tags(self):
        value = fresh_name("v")
        blob = self.uploaded("tagged", tags={"colour": value, "size": "1"})
        self.uploaded("untagged")
        self.assertEqual(blob.get_blob_tags(), {"colour": value, "size": "1"})
        query = f"\"colour\"='{value}'"

        def found():
            return [each.name for each in self.service.find_blobs_by_tags(query)]

        eventually(lambda: found() == ["tagged"], "the tags are not found")
        self.assertEqual([each.name for each in self.container.find_blobs_by_tags(query)],
                         ["tagged"])
        blob.set_blob_tags({"colour": "none"})
        eventually(lambda: found() == [], "tags that are gone are found")

    def test_is_copied_within_the_account(self):
        source = self.uploaded("source", os.urandom(MIB), metadata={"kept": "yes"})
        copy = self.container.get_blob_client("copy")
        copy.start_copy_from_url(source.url)
        eventually(lambda: copy.get_blob_properties().copy.status == "success", "it is not copied")
        self.assertEqual(copy.download_blob().readall(), source.download_blob().readall())
        self.assertEqual(copy.get_blob_properties().metadata, {"kept": "yes"})


class AppendBlobTests(BlobCase):
    def test_grows_at_its_end(self):
        blob = self.container.get_blob_client("log")
        blob.create_append_blob()
        for number in range(5):
            answer = blob.append_block(f"line {number}\n".encode(), validate_content=True)
            self.assertEqual(int(answer["blob_append_offset"]), 7 * number)
        with self.refused(412, "AppendPositionConditionNotMet"):
            blob.append_block(b"late", appendpos_condition=0)
        with self.refused(412, "MaxBlobSizeConditionNotMet"):
            blob.append_block(b"much", maxsize_condition=36)
        self.assertEqual(len(blob.download_blob().readall().splitlines()), 5)
        blob.upload_blob(b"line 5\n", blob_type=BlobType.APPENDBLOB)
        self.assertEqual(blob.get_blob_properties().size, 42)
        blob.seal_append_blob()
        with self.refused(409, "BlobIsSealed"):
            blob.append_block(b"no more")


class PageBlobTests(BlobCase):
    def test_is_written_cleared_and_resized_by_pages(self):
        blob = self.container.get_blob_client("disk")
        blob.create_page_blob(4096)
        blob.upload_page(b"a" * 1024, offset=512, length=1024, validate_content=True)
        blob.upload_page(b"b" * 512, offset=3072, length=512)
        blob.clear_page(offset=1024, length=512)
        found = [(each.start, each.end) for each in blob.list_page_ranges()]
        self.assertEqual(found, [(512, 1023), (3072, 3583)])
        expected = bytes(512) + b"a" * 512 + bytes(2048) + b"b" * 512 + bytes(512)
        self.assertEqual(blob.download_blob().readall(), expected)
        blob.resize_blob(1024)
        self.assertEqual(blob.download_blob().readall(), expected[:1024])
        with self.refused(416, "InvalidPageRange"):
            blob.upload_page(b"c" * 512, offset=1024, length=512)


if __name__ == "__main__":
    unittest.main()
