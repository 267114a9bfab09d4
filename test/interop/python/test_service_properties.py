"""Properties, statistics and CORS of both services.

Properties belong to a whole service: each test sets those that it looks at.
"""

import unittest
from types import SimpleNamespace

from azure.core.credentials import AzureNamedKeyCredential
from azure.data.tables import (
    TableAnalyticsLogging,
    TableCorsRule,
    TableMetrics,
    TableRetentionPolicy,
    TableServiceClient,
)
from azure.storage.queue import (
    CorsRule,
    Metrics,
    QueueAnalyticsLogging,
    QueueServiceClient,
    RetentionPolicy,
)
from server import ACCOUNT, CONNECTION_STRING, KEY, SETTINGS, ask

TABLES = SimpleNamespace(
    client=TableServiceClient, rule=TableCorsRule, metrics=TableMetrics,
    logging=TableAnalyticsLogging, retention=TableRetentionPolicy,
    endpoint=SETTINGS["TableEndpoint"],
)
QUEUES = SimpleNamespace(
    client=QueueServiceClient, rule=CorsRule, metrics=Metrics, logging=QueueAnalyticsLogging,
    retention=RetentionPolicy, endpoint=SETTINGS["QueueEndpoint"],
)


class PropertiesTests(unittest.TestCase):
    def for_each_service(self, check):
        for kind in (TABLES, QUEUES):
            with self.subTest(client=kind.client.__name__):
                with kind.client.from_connection_string(CONNECTION_STRING) as service:
                    check(kind, service)

    def test_sets_and_gets_properties(self):
        def check(kind, service):
            retention = kind.retention(enabled=True, days=5)
            logging = kind.logging(read=True, write=True, delete=False, retention_policy=retention)
            metrics = kind.metrics(enabled=True, include_apis=True, retention_policy=retention)
            rule = kind.rule(["http://a.example", "http://b.example"], ["GET", "PUT"],
                             allowed_headers=["x-ms-*"], exposed_headers=["x-ms-meta-a"],
                             max_age_in_seconds=500)
            service.set_service_properties(analytics_logging=logging, hour_metrics=metrics,
                                           minute_metrics=metrics, cors=[rule])
            found = service.get_service_properties()
            self.assertTrue(found["analytics_logging"].read)
            self.assertFalse(found["analytics_logging"].delete)
            self.assertEqual(found["analytics_logging"].retention_policy.days, 5)
            self.assertTrue(found["minute_metrics"].include_apis)
            [kept] = found["cors"]
            # One client gives texts, the other lists.
            texts = [value if isinstance(value, str) else ",".join(value) for value in (
                kept.allowed_origins, kept.allowed_methods, kept.allowed_headers,
                kept.exposed_headers)]
            self.assertEqual(texts, ["http://a.example,http://b.example", "GET,PUT", "x-ms-*",
                                     "x-ms-meta-a"])
            self.assertEqual(kept.max_age_in_seconds, 500)
            service.set_service_properties(cors=[])
            found = service.get_service_properties()
            self.assertEqual(found["cors"], [])
            self.assertEqual(found["hour_metrics"].retention_policy.days, 5)

        self.for_each_service(check)

    def test_answers_preflights_by_the_rules(self):
        def check(kind, service):
            service.set_service_properties(cors=[])
            url = kind.endpoint + "/anything"
            asked = {"Origin": "http://a.example", "Access-Control-Request-Method": "PUT",
                     "Access-Control-Request-Headers": "x-ms-date"}
            self.assertEqual(ask("OPTIONS", url, asked)[0], 403)
            service.set_service_properties(cors=[kind.rule(
                ["http://a.example"], ["GET", "PUT"], allowed_headers=["x-ms-*"],
                exposed_headers=["x-ms-*"], max_age_in_seconds=60)])
            status, headers = ask("OPTIONS", url, asked)
            self.assertEqual(status, 200)
            self.assertEqual(headers["Access-Control-Allow-Origin"], "http://a.example")
            self.assertEqual(headers["Access-Control-Allow-Methods"], "PUT")
            self.assertEqual(headers["Access-Control-Allow-Headers"], "x-ms-date")
            self.assertEqual(headers["Access-Control-Max-Age"], "60")
            for wrong in ({"Origin": "http://b.example"},
                          {"Access-Control-Request-Method": "DELETE"},
                          {"Access-Control-Request-Headers": "content-type"}):
                self.assertEqual(ask("OPTIONS", url, {**asked, **wrong})[0], 403, wrong)
            # CORS gives no rights: a request without a signature is refused, readably.
            status, headers = ask("GET", url, {"Origin": "http://a.example"})
            self.assertIn(status, (401, 403, 404))
            self.assertEqual(headers["Access-Control-Allow-Origin"], "http://a.example")
            service.set_service_properties(cors=[])

        self.for_each_service(check)

    def test_gets_statistics_of_tables_from_the_secondary_endpoint(self):
        credential = AzureNamedKeyCredential(ACCOUNT, KEY)
        url = SETTINGS["TableEndpoint"] + "-secondary"
        with TableServiceClient(url, credential=credential) as secondary:
            # `get_service_stats` puts another host into the URL, which has the account in its path.
            stats = secondary._client.service.get_statistics()
        self.assertEqual(stats.geo_replication.status, "live")

    def test_gets_statistics_of_queues_from_the_secondary_endpoint(self):
        credential = {"account_name": ACCOUNT, "account_key": KEY}
        url = SETTINGS["QueueEndpoint"] + "-secondary"
        with QueueServiceClient(url, credential=credential) as secondary:
            stats = secondary._client.service.get_statistics()
        self.assertEqual(stats.geo_replication.status, "live")


if __name__ == "__main__":
    unittest.main()
