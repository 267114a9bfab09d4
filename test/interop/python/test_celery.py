"""Celery over its transport of storage queues: tasks of one program run in another."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

from azure.data.tables import TableServiceClient
from azure.storage.queue import QueueServiceClient
from server import CONNECTION_STRING, eventually, fresh_name

QUEUE = fresh_name("q")
TABLE = fresh_name()
TASKS = 20


class CeleryTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ.update(CELERY_TEST_QUEUE=QUEUE, CELERY_TEST_TABLE=TABLE)
        cls.service = TableServiceClient.from_connection_string(CONNECTION_STRING)
        cls.addClassCleanup(cls.service.close)
        cls.table = cls.service.create_table(TABLE)
        cls.addClassCleanup(cls.table.close)

    def start_worker(self):
        command = ["-m", "celery", "--app", "celery_app", "worker", "--pool", "solo",
                   "--without-gossip", "--without-mingle", "--without-heartbeat",
                   "--loglevel", "WARNING"]
        environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
        worker = subprocess.Popen([sys.executable, *command], cwd=Path(__file__).parent,
                                  env=environment, stdout=subprocess.DEVNULL)
        self.addCleanup(worker.wait)
        self.addCleanup(worker.terminate)
        return worker

    def sums(self):
        rows = self.table.query_entities("PartitionKey eq 'sums'")
        return {row["RowKey"]: row["sum"] for row in rows}

    def test_runs_every_task_that_was_sent(self):
        from celery_app import add

        for number in range(TASKS):
            add.delay(f"{number:03}", number, 1)
        with QueueServiceClient.from_connection_string(CONNECTION_STRING) as service:
            queue = service.get_queue_client(QUEUE)
            self.assertEqual(queue.get_queue_properties().approximate_message_count, TASKS)
            worker = self.start_worker()
            expected = {f"{number:03}": number + 1 for number in range(TASKS)}
            eventually(lambda: worker.poll() is not None or self.sums() == expected,
                       "the worker has not run every task")
            self.assertEqual(self.sums(), expected)
            self.assertEqual(queue.get_queue_properties().approximate_message_count, 0)


if __name__ == "__main__":
    unittest.main()
