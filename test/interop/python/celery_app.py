"""A Celery application whose broker is the queue service; its task keeps its result in a table.

`test_celery.py` runs a worker of it and sends it tasks.
"""

import os

from azure.data.tables import TableClient
from celery import Celery
from server import CONNECTION_STRING, KEY, SETTINGS

app = Celery(broker=f"azurestoragequeues://{KEY}@{SETTINGS['QueueEndpoint']}")
app.conf.update(
    task_default_queue=os.environ["CELERY_TEST_QUEUE"],
    broker_connection_retry_on_startup=True,
    broker_transport_options={"polling_interval": 0.1},
    worker_prefetch_multiplier=1,
)


@app.task(name="add")
def add(row, left, right):
    table = os.environ["CELERY_TEST_TABLE"]
    with TableClient.from_connection_string(CONNECTION_STRING, table) as client:
        client.upsert_entity({"PartitionKey": "sums", "RowKey": row, "sum": left + right})
