"""Shared access signatures and stored policies of queues."""

import unittest

from azure.core.exceptions import HttpResponseError
from azure.storage.queue import (
    AccessPolicy,
    AccountSasPermissions,
    QueueClient,
    QueueSasPermissions,
    QueueServiceClient,
    ResourceTypes,
    generate_account_sas,
    generate_queue_sas,
)
from server import ACCOUNT, CONNECTION_STRING, KEY, SETTINGS, fresh_name, in_hours

ENDPOINT = SETTINGS["QueueEndpoint"]


class AccessTests(unittest.TestCase):
    def setUp(self):
        self.queue = QueueClient.from_connection_string(CONNECTION_STRING, fresh_name("q"))
        self.queue.create_queue()
        self.addCleanup(self.queue.close)

    def guest(self, **signed) -> QueueClient:
        """A client that knows a signature and no key."""
        token = generate_queue_sas(ACCOUNT, self.queue.queue_name, KEY, **signed)
        client = QueueClient(ENDPOINT, self.queue.queue_name, credential=token, retry_total=0)
        self.addCleanup(client.close)
        return client

    def assert_refused(self, call, code):
        with self.assertRaises(HttpResponseError) as caught:
            call()
        self.assertEqual(caught.exception.status_code, 403)
        self.assertEqual(caught.exception.error_code, code)

    def test_divides_the_work_by_signatures(self):
        sender = self.guest(permission=QueueSasPermissions(add=True), expiry=in_hours(1))
        worker = self.guest(permission=QueueSasPermissions(process=True), expiry=in_hours(1))
        sender.send_message("work")
        self.assert_refused(sender.peek_messages, "AuthorizationPermissionMismatch")
        self.assert_refused(sender.receive_message, "AuthorizationPermissionMismatch")
        self.assert_refused(lambda: worker.send_message("x"), "AuthorizationPermissionMismatch")
        message = worker.receive_message()
        self.assertEqual(message.content, "work")
        worker.delete_message(message)

    def test_refuses_a_signature_out_of_its_time(self):
        allowed = {"permission": QueueSasPermissions(read=True)}
        expired = self.guest(**allowed, start=in_hours(-2), expiry=in_hours(-1))
        early = self.guest(**allowed, start=in_hours(1), expiry=in_hours(2))
        for guest in (expired, early):
            self.assert_refused(guest.peek_messages, "AuthenticationFailed")

    def test_works_with_the_signature_of_an_account(self):
        token = generate_account_sas(ACCOUNT, KEY, ResourceTypes(container=True, object=True),
                                     AccountSasPermissions(read=True, create=True, add=True),
                                     in_hours(1))
        with QueueServiceClient(ENDPOINT, credential=token, retry_total=0) as service:
            queue = service.create_queue(fresh_name("q"))
            queue.send_message("text")
            self.assertEqual(queue.peek_messages()[0].content, "text")
            self.assert_refused(queue.delete_queue, "AuthorizationPermissionMismatch")
            self.assert_refused(service.get_service_properties,
                                "AuthorizationResourceTypeMismatch")

    def test_follows_a_stored_policy_until_it_is_revoked(self):
        policy = AccessPolicy(QueueSasPermissions(read=True), in_hours(1))
        self.queue.set_queue_access_policy({"reader": policy})
        guest = self.guest(policy_id="reader")
        self.assertEqual(guest.peek_messages(), [])
        self.assert_refused(lambda: guest.send_message("x"), "AuthorizationPermissionMismatch")
        self.queue.set_queue_access_policy({})
        self.assert_refused(guest.peek_messages, "AuthenticationFailed")


if __name__ == "__main__":
    unittest.main()
