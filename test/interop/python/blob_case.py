"""What the tests of blobs share: a container of the test's own, and refusals."""

import os
import unittest
from contextlib import contextmanager

from azure.core.exceptions import HttpResponseError
from azure.storage.blob import BlobServiceClient
from server import CONNECTION_STRING, fresh_name

MIB = 1024 * 1024
# A large blob has so many MiB; a long run asks for 1,024.
LARGE = int(os.environ.get("TABULARIUM_INTEROP_BLOB_MIB", "24")) * MIB


class BlobCase(unittest.TestCase):
    def setUp(self):
        self.service = BlobServiceClient.from_connection_string(
            CONNECTION_STRING, retry_total=0, max_single_put_size=2 * MIB, max_block_size=MIB,
            max_single_get_size=2 * MIB, max_chunk_get_size=MIB)
        self.addCleanup(self.service.close)
        self.container = self.service.create_container(fresh_name("c"))
        self.addCleanup(self.container.delete_container)

    def uploaded(self, name, content=b"content", **options):
        blob = self.container.get_blob_client(name)
        blob.upload_blob(content, **options)
        return blob

    @contextmanager
    def refused(self, status, code):
        with self.assertRaises(HttpResponseError) as caught:
            yield
        found = (caught.exception.status_code, getattr(caught.exception, "error_code", None))
        self.assertEqual(found, (status, code))
