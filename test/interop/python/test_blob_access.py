"""Signatures of blobs, of every kind, and bearer tokens."""

import unittest

from azure.core.credentials import AccessToken
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import (
    AccessPolicy,
    AccountSasPermissions,
    BlobClient,
    BlobSasPermissions,
    BlobServiceClient,
    ContainerClient,
    ContainerSasPermissions,
    ResourceTypes,
    generate_account_sas,
    generate_blob_sas,
    generate_container_sas,
)
from blob_case import BlobCase
from server import (
    ACCOUNT,
    CERTIFICATE,
    KEY,
    TLS_CONNECTION_STRING,
    TOKEN,
    fresh_name,
    in_hours,
    settings_of,
)


class SignatureTests(BlobCase):
    def by(self, kind, url, signature):
        return kind(**url, credential=signature, retry_total=0)

    def container_by(self, signature):
        return self.by(ContainerClient, {"account_url": self.service.url,
                                         "container_name": self.container.container_name},
                       signature)

    def blob_by(self, name, signature):
        return self.by(BlobClient, {"account_url": self.service.url, "blob_name": name,
                                    "container_name": self.container.container_name}, signature)

    def test_of_a_blob_reads_that_blob_alone(self):
        self.uploaded("one")
        self.uploaded("other")
        signature = generate_blob_sas(ACCOUNT, self.container.container_name, "one",
                                      account_key=KEY, permission=BlobSasPermissions(read=True),
                                      expiry=in_hours(1), content_type="text/x-signed")
        download = self.blob_by("one", signature).download_blob()
        self.assertEqual(download.readall(), b"content")
        self.assertEqual(download.properties.content_settings.content_type, "text/x-signed")
        with self.refused(403, "AuthenticationFailed"):
            self.blob_by("other", signature).download_blob()
        with self.refused(403, "AuthorizationPermissionMismatch"):
            self.blob_by("one", signature).upload_blob(b"new", overwrite=True)

    def test_of_a_container_lists_and_writes(self):
        permission = ContainerSasPermissions(write=True, list=True)
        signature = generate_container_sas(ACCOUNT, self.container.container_name, account_key=KEY,
                                           permission=permission, expiry=in_hours(1))
        reached = self.container_by(signature)
        reached.upload_blob("written", b"by signature")
        self.assertEqual(list(reached.list_blob_names()), ["written"])
        with self.refused(403, "AuthorizationPermissionMismatch"):
            reached.download_blob("written")

    def test_by_a_policy_ends_with_it(self):
        policy = AccessPolicy(ContainerSasPermissions(read=True), in_hours(1), in_hours(-1))
        self.container.set_container_access_policy({"readers": policy})
        self.uploaded("one")
        signature = generate_container_sas(ACCOUNT, self.container.container_name, account_key=KEY,
                                           policy_id="readers")
        self.assertEqual(self.container_by(signature).download_blob("one").readall(), b"content")
        self.container.set_container_access_policy({})
        with self.refused(403, "AuthenticationFailed"):
            self.container_by(signature).download_blob("one")

    def test_of_the_account_does_what_it_permits(self):
        signature = generate_account_sas(
            ACCOUNT, account_key=KEY, resource_types=ResourceTypes(container=True, object=True),
            permission=AccountSasPermissions(read=True, write=True, create=True, list=True),
            expiry=in_hours(1))
        reached = self.container_by(signature)
        reached.upload_blob("one", b"by the account")
        self.assertEqual(reached.download_blob("one").readall(), b"by the account")
        with self.refused(403, "AuthorizationPermissionMismatch"):
            reached.delete_blob("one")

    def test_that_has_expired_is_refused(self):
        self.uploaded("one")
        signature = generate_blob_sas(ACCOUNT, self.container.container_name, "one",
                                      account_key=KEY, permission="r", start=in_hours(-2),
                                      expiry=in_hours(-1))
        with self.refused(403, "AuthenticationFailed"):
            self.blob_by("one", signature).download_blob()


class Bearer:
    def __init__(self, token):
        self.token = token

    def get_token(self, *scopes, **options):
        return AccessToken(self.token, int(in_hours(1).timestamp()))


class BearerTests(unittest.TestCase):
    def setUp(self):
        self.settings = settings_of(TLS_CONNECTION_STRING)

    def reached_by(self, credential):
        service = BlobServiceClient(self.settings["BlobEndpoint"], credential=credential,
                                    connection_verify=CERTIFICATE, retry_total=0)
        self.addCleanup(service.close)
        return service

    def test_token_makes_writes_and_reads(self):
        container = self.reached_by(Bearer(TOKEN)).create_container(fresh_name("c"))
        self.addCleanup(container.delete_container)
        container.upload_blob("one", b"by token")
        self.assertEqual(container.download_blob("one").readall(), b"by token")

    def test_token_that_is_not_signed_is_refused(self):
        head, claims, _ = TOKEN.split(".")
        with self.assertRaises(HttpResponseError) as caught:
            self.reached_by(Bearer(f"{head}.{claims}.AAAA")).create_container(fresh_name("c"))
        self.assertEqual(caught.exception.status_code, 401)

    def test_token_delegates_to_signatures(self):
        service = self.reached_by(Bearer(TOKEN))
        container = service.create_container(fresh_name("c"))
        self.addCleanup(container.delete_container)
        container.upload_blob("one", b"delegated")
        key = service.get_user_delegation_key(in_hours(-1), in_hours(1))
        signature = generate_blob_sas(self.settings["AccountName"], container.container_name, "one",
                                      user_delegation_key=key, permission="r", expiry=in_hours(1))
        reached = self.reached_by(signature).get_blob_client(container.container_name, "one")
        self.assertEqual(reached.download_blob().readall(), b"delegated")
        with self.assertRaises(HttpResponseError) as caught:
            reached.delete_blob()
        self.assertEqual(caught.exception.status_code, 403)


if __name__ == "__main__":
    unittest.main()
