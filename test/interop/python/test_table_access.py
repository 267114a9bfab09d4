"""Shared access signatures and stored policies of tables."""

import unittest
from datetime import datetime, timedelta, timezone

from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.data.tables import (
    AccountSasPermissions,
    ResourceTypes,
    TableAccessPolicy,
    TableClient,
    TableSasPermissions,
    TableServiceClient,
    generate_account_sas,
    generate_table_sas,
)
from server import ACCOUNT, CONNECTION_STRING, KEY, SETTINGS, fresh_name, in_hours

ENDPOINT = SETTINGS["TableEndpoint"]
CREDENTIAL = AzureNamedKeyCredential(ACCOUNT, KEY)
EVERYTHING = TableSasPermissions(read=True, add=True, update=True, delete=True)


class AccessTests(unittest.TestCase):
    """A table of the partitions a to d, each with the rows 1 to 3."""

    def setUp(self):
        self.table = TableClient.from_connection_string(CONNECTION_STRING, fresh_name())
        self.table.create_table()
        self.addCleanup(self.table.close)
        for partition in "abcd":
            self.table.submit_transaction([
                ("create", {"PartitionKey": partition, "RowKey": row}) for row in "123"
            ])

    def guest(self, **signed) -> TableClient:
        """A client that knows a signature and no key."""
        token = generate_table_sas(CREDENTIAL, self.table.table_name, **signed)
        client = TableClient(ENDPOINT, self.table.table_name,
                             credential=AzureSasCredential(token), retry_total=0)
        self.addCleanup(client.close)
        return client

    def assert_refused(self, call, code):
        with self.assertRaises(HttpResponseError) as caught:
            call()
        self.assertEqual(caught.exception.status_code, 403)
        self.assertIn(code, caught.exception.response.text())

    def test_shows_only_the_rows_in_the_range_of_the_signature(self):
        guest = self.guest(permission=EVERYTHING, expiry=in_hours(1),
                           start_pk="b", start_rk="2", end_pk="c", end_rk="2")
        found = [e["PartitionKey"] + e["RowKey"] for e in guest.list_entities()]
        self.assertEqual(found, ["b2", "b3", "c1", "c2"])
        guest.upsert_entity({"PartitionKey": "c", "RowKey": "11"})
        outside = {"PartitionKey": "d", "RowKey": "1"}
        for write in (guest.create_entity, guest.upsert_entity, guest.update_entity):
            self.assert_refused(lambda: write(outside), "AuthorizationFailure")
        with self.assertRaises(ResourceNotFoundError):
            guest.get_entity("a", "1")

    def test_allows_no_more_than_the_signature_says(self):
        reader = self.guest(permission=TableSasPermissions(read=True), expiry=in_hours(1))
        self.assertEqual(len(list(reader.list_entities())), 12)
        entity = {"PartitionKey": "a", "RowKey": "1"}
        for write in (reader.create_entity, reader.update_entity, reader.delete_entity):
            self.assert_refused(lambda: write(entity), "AuthorizationPermissionMismatch")
        writer = self.guest(permission=TableSasPermissions(add=True), expiry=in_hours(1))
        writer.create_entity({"PartitionKey": "a", "RowKey": "new"})
        self.assert_refused(lambda: writer.get_entity("a", "new"),
                            "AuthorizationPermissionMismatch")

    def test_refuses_a_signature_out_of_its_time(self):
        expired = self.guest(permission=EVERYTHING, start=in_hours(-2), expiry=in_hours(-1))
        early = self.guest(permission=EVERYTHING, start=in_hours(1), expiry=in_hours(2))
        for guest in (expired, early):
            self.assert_refused(lambda: list(guest.list_entities()), "AuthenticationFailed")

    def test_refuses_a_signature_of_another_table(self):
        token = generate_table_sas(CREDENTIAL, fresh_name(), permission=EVERYTHING,
                                   expiry=in_hours(1))
        with TableClient(ENDPOINT, self.table.table_name,
                         credential=AzureSasCredential(token)) as guest:
            with self.assertRaises(HttpResponseError):
                list(guest.list_entities())

    def test_lets_a_transaction_in_by_a_signature_and_refuses_one_outside(self):
        guest = self.guest(permission=EVERYTHING, expiry=in_hours(1), start_pk="a", end_pk="a")
        guest.submit_transaction([("create", {"PartitionKey": "a", "RowKey": "new"})])
        with self.assertRaises(HttpResponseError) as caught:
            guest.submit_transaction([("create", {"PartitionKey": "b", "RowKey": "new"})])
        self.assertIn("AuthorizationFailure", caught.exception.response.text())

    def test_works_with_the_signature_of_an_account(self):
        def account_guest(permission):
            types = ResourceTypes(service=True, object=True)
            token = generate_account_sas(CREDENTIAL, types, permission, in_hours(1))
            client = TableServiceClient(ENDPOINT, credential=AzureSasCredential(token),
                                        retry_total=0)
            self.addCleanup(client.close)
            return client.get_table_client(self.table.table_name)

        writer = account_guest(AccountSasPermissions(read=True, write=True, add=True))
        writer.create_entity({"PartitionKey": "a", "RowKey": "new"})
        reader = account_guest(AccountSasPermissions(read=True))
        self.assertEqual(reader.get_entity("a", "new")["RowKey"], "new")
        self.assert_refused(lambda: reader.create_entity({"PartitionKey": "a", "RowKey": "x"}),
                            "AuthorizationPermissionMismatch")
        # The resource type of a container is not among those of the signature.
        self.assert_refused(reader.create_table, "AuthorizationResourceTypeMismatch")

    def test_sets_and_gets_stored_policies(self):
        start = datetime(2020, 1, 1, tzinfo=timezone.utc)
        self.table.set_table_access_policy({
            "reader": TableAccessPolicy(permission=TableSasPermissions(read=True), start=start,
                                        expiry=start + timedelta(days=7)),
            "empty": None,
        })
        found = self.table.get_table_access_policy()
        self.assertEqual(sorted(found), ["empty", "reader"])
        self.assertEqual(found["reader"].permission, "r")
        self.assertEqual(found["reader"].start, start)
        self.assertEqual(found["reader"].expiry, start + timedelta(days=7))
        self.table.set_table_access_policy({})
        self.assertEqual(dict(self.table.get_table_access_policy()), {})

    def test_follows_a_stored_policy_until_it_is_revoked(self):
        policy = TableAccessPolicy(permission=TableSasPermissions(read=True), expiry=in_hours(1))
        self.table.set_table_access_policy({"reader": policy})
        guest = self.guest(policy_id="reader")
        self.assertEqual(len(list(guest.list_entities())), 12)
        self.assert_refused(lambda: guest.delete_entity("a", "1"),
                            "AuthorizationPermissionMismatch")
        self.table.set_table_access_policy({})
        self.assert_refused(lambda: list(guest.list_entities()), "AuthenticationFailed")


if __name__ == "__main__":
    unittest.main()
