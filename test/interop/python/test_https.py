"""https with a certificate of the server's own, and bearer tokens."""

import time
import unittest

from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError, ServiceRequestError
from azure.data.tables import TableClient, TableServiceClient
from azure.storage.queue import QueueServiceClient
from server import CERTIFICATE, TLS_CONNECTION_STRING, TOKEN, fresh_name, settings_of

ENDPOINTS = settings_of(TLS_CONNECTION_STRING)
TRUST = {"connection_verify": CERTIFICATE, "retry_total": 0}


class Bearer:
    """What the credentials of the identity library are to a client."""

    def __init__(self, token):
        self.token = token

    def get_token(self, *scopes, **options):
        return AccessToken(self.token, int(time.time()) + 3600)


class HttpsTests(unittest.TestCase):
    def test_speaks_https_with_the_certificate_of_the_server(self):
        string = TLS_CONNECTION_STRING
        self.assertIn("DefaultEndpointsProtocol=https", string)
        with TableClient.from_connection_string(string, fresh_name(), **TRUST) as table:
            table.create_table()
            table.create_entity({"PartitionKey": "p", "RowKey": "r"})
            self.assertEqual(len(list(table.list_entities())), 1)
        with QueueServiceClient.from_connection_string(string, **TRUST) as service:
            queue = service.create_queue(fresh_name("q"))
            queue.send_message("text")
            self.assertEqual(queue.receive_message().content, "text")

    def test_does_not_trust_the_server_without_its_certificate(self):
        with TableServiceClient.from_connection_string(TLS_CONNECTION_STRING,
                                                       retry_total=0) as service:
            with self.assertRaises(ServiceRequestError):
                service.create_table(fresh_name())

    def test_works_with_bearer_tokens(self):
        with TableServiceClient(ENDPOINTS["TableEndpoint"], credential=Bearer(TOKEN),
                                **TRUST) as service:
            table = service.create_table(fresh_name())
            table.create_entity({"PartitionKey": "p", "RowKey": "r"})
            self.assertEqual(table.get_entity("p", "r")["RowKey"], "r")
        with QueueServiceClient(ENDPOINTS["QueueEndpoint"], credential=Bearer(TOKEN),
                                **TRUST) as service:
            queue = service.create_queue(fresh_name("q"))
            queue.send_message("text")
            self.assertEqual(queue.receive_message().content, "text")

    def test_refuses_a_token_that_is_not_signed(self):
        header, claims, _ = TOKEN.split(".")
        forged = Bearer(f"{header}.{claims}.AAAA")
        with QueueServiceClient(ENDPOINTS["QueueEndpoint"], credential=forged,
                                **TRUST) as service:
            with self.assertRaises(ClientAuthenticationError):
                service.create_queue(fresh_name("q"))


if __name__ == "__main__":
    unittest.main()
