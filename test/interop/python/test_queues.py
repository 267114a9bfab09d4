"""Queues and messages."""

import threading
import unittest
import uuid
from datetime import datetime, timedelta, timezone

from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ResourceExistsError,
    ResourceNotFoundError,
)
from azure.storage.queue import (
    AccessPolicy,
    BinaryBase64DecodePolicy,
    BinaryBase64EncodePolicy,
    QueueClient,
    QueueSasPermissions,
    QueueServiceClient,
    TextBase64DecodePolicy,
    TextBase64EncodePolicy,
)
from server import CONNECTION_STRING, SETTINGS, eventually, fresh_name as fresh

WEEK = timedelta(days=7)


def fresh_name() -> str:
    return fresh("q")


def queue_client(name, **options) -> QueueClient:
    return QueueClient.from_connection_string(CONNECTION_STRING, name, retry_total=0, **options)


class ServiceTests(unittest.TestCase):
    def setUp(self):
        self.service = QueueServiceClient.from_connection_string(CONNECTION_STRING)
        self.addCleanup(self.service.close)

    def test_creates_lists_and_deletes_queues(self):
        prefix = fresh_name()
        names = [f"{prefix}-{letter}" for letter in "abc"]
        for name in reversed(names):
            self.service.create_queue(name)
        found = [queue.name for queue in self.service.list_queues(name_starts_with=prefix)]
        self.assertEqual(found, names)
        self.service.delete_queue(names[1])
        found = [queue.name for queue in self.service.list_queues(name_starts_with=prefix)]
        self.assertEqual(found, [names[0], names[2]])

    def test_pages_through_queues_and_goes_on_from_a_token(self):
        prefix = fresh_name()
        names = [f"{prefix}-{number}" for number in range(5)]
        for name in names:
            self.service.create_queue(name)
        listed = {"name_starts_with": prefix, "results_per_page": 2}
        pages = [[q.name for q in page] for page in self.service.list_queues(**listed).by_page()]
        self.assertEqual(pages, [names[0:2], names[2:4], names[4:5]])
        first = self.service.list_queues(**listed).by_page()
        next(first)
        rest = self.service.list_queues(**listed).by_page(first.continuation_token)
        self.assertEqual([q.name for page in rest for q in page], names[2:])

    def test_lists_metadata_when_asked(self):
        name = fresh_name()
        self.service.create_queue(name, metadata={"Colour": "blue"})
        listed = {"name_starts_with": name}
        [plain] = self.service.list_queues(**listed)
        self.assertIsNone(plain.metadata)
        [full] = self.service.list_queues(include_metadata=True, **listed)
        self.assertEqual(full.metadata, {"Colour": "blue"})

    def test_tells_a_queue_that_exists(self):
        name = fresh_name()
        self.service.create_queue(name, metadata={"a": "1"})
        # The same metadata is 204, of which this client makes the same exception.
        for metadata in ({"a": "1"}, {"a": "2"}, None):
            with self.subTest(metadata=metadata), self.assertRaises(ResourceExistsError) as caught:
                self.service.create_queue(name, metadata=metadata)
            self.assertEqual(caught.exception.error_code, "QueueAlreadyExists")
        [found] = self.service.list_queues(name_starts_with=name, include_metadata=True)
        self.assertEqual(found.metadata, {"a": "1"})

    def test_tells_a_queue_that_is_missing(self):
        with self.assertRaises(ResourceNotFoundError) as caught:
            self.service.delete_queue(fresh_name())
        self.assertEqual(caught.exception.error_code, "QueueNotFound")

    def test_refuses_illegal_names(self):
        for name, code in (("ab", "OutOfRangeInput"), ("Upper", "InvalidResourceName")):
            with self.subTest(name=name), self.assertRaises(HttpResponseError) as caught:
                self.service.create_queue(name)
            self.assertEqual(caught.exception.error_code, code)


class CredentialTests(unittest.TestCase):
    def test_refuses_a_wrong_key(self):
        credential = {"account_name": SETTINGS["AccountName"], "account_key": "bm8="}
        client = QueueServiceClient(SETTINGS["QueueEndpoint"], credential=credential,
                                    retry_total=0)
        with client, self.assertRaises(ClientAuthenticationError) as caught:
            client.get_service_properties()
        self.assertEqual(caught.exception.error_code, "AuthenticationFailed")


class QueueTests(unittest.TestCase):
    def setUp(self):
        self.queue = queue_client(fresh_name())
        self.queue.create_queue()
        self.addCleanup(self.queue.close)

    def peek_texts(self):
        return [message.content for message in self.queue.peek_messages(max_messages=32)]

    def test_sets_and_replaces_metadata(self):
        self.queue.set_queue_metadata({"a": "1", "B": "two words"})
        # Headers have lost their case when this client reads them.
        found = {name.lower(): value
                 for name, value in self.queue.get_queue_properties().metadata.items()}
        self.assertEqual(found, {"a": "1", "b": "two words"})
        self.queue.set_queue_metadata()
        self.assertEqual(dict(self.queue.get_queue_properties().metadata), {})

    def test_counts_messages(self):
        for text in "abc":
            self.queue.send_message(text)
        self.queue.receive_message()
        self.assertEqual(self.queue.get_queue_properties().approximate_message_count, 3)

    def test_sets_and_gets_access_policies(self):
        start = datetime(2020, 1, 1, tzinfo=timezone.utc)
        policies = {
            "reader": AccessPolicy(QueueSasPermissions(read=True), start + WEEK, start),
            "worker": AccessPolicy("raup", start + WEEK),
            "empty": None,
        }
        self.queue.set_queue_access_policy(policies)
        found = self.queue.get_queue_access_policy()
        self.assertEqual(list(found), list(policies))
        self.assertEqual(found["reader"].permission, "r")
        self.assertEqual(found["reader"].start, "2020-01-01T00:00:00.0000000Z")
        self.assertEqual(found["worker"].expiry, "2020-01-08T00:00:00.0000000Z")
        self.assertIsNone(found["worker"].start)
        self.queue.set_queue_access_policy({})
        self.assertEqual(self.queue.get_queue_access_policy(), {})

    def test_tells_the_whole_message_that_was_sent(self):
        before = datetime.now(timezone.utc).replace(microsecond=0)
        sent = self.queue.send_message("text")
        uuid.UUID(sent.id)
        self.assertEqual(sent.content, "text")
        self.assertTrue(before <= sent.inserted_on <= before + timedelta(minutes=1))
        self.assertEqual(sent.expires_on - sent.inserted_on, WEEK)
        self.assertEqual(sent.next_visible_on, sent.inserted_on)
        self.assertTrue(sent.pop_receipt)

    def test_receives_updates_and_deletes(self):
        self.queue.send_message("first")
        message = self.queue.receive_message(visibility_timeout=60)
        self.assertEqual((message.content, message.dequeue_count), ("first", 1))
        self.assertEqual(self.peek_texts(), [])
        updated = self.queue.update_message(message, visibility_timeout=0, content="second")
        self.assertEqual(updated.content, "second")
        self.assertNotEqual(updated.pop_receipt, message.pop_receipt)
        self.assertEqual(self.peek_texts(), ["second"])
        with self.assertRaises(ResourceNotFoundError) as caught:
            self.queue.delete_message(message)
        self.assertEqual(caught.exception.error_code, "MessageNotFound")
        self.queue.delete_message(updated.id, updated.pop_receipt)
        self.assertEqual(self.peek_texts(), [])
        self.assertIsNone(self.queue.receive_message())

    def test_updates_the_time_alone(self):
        self.queue.send_message("kept")
        message = self.queue.receive_message()
        self.queue.update_message(message.id, message.pop_receipt, visibility_timeout=0)
        self.assertEqual(self.peek_texts(), ["kept"])

    def test_peeks_without_counting(self):
        self.queue.send_message("seen")
        for _ in range(3):
            [message] = self.queue.peek_messages()
            self.assertEqual(message.dequeue_count, 0)
            self.assertIsNone(message.pop_receipt)

    def test_receives_in_pages_all_messages(self):
        for number in range(70):
            self.queue.send_message(str(number))
        pages = self.queue.receive_messages(messages_per_page=32, visibility_timeout=3600)
        sizes, texts = [], []
        for page in pages.by_page():
            messages = list(page)
            sizes.append(len(messages))
            texts.extend(message.content for message in messages)
        self.assertEqual(sizes[:3], [32, 32, 6])
        self.assertEqual(texts, [str(number) for number in range(70)])

    def test_receives_no_more_than_asked(self):
        for number in range(10):
            self.queue.send_message(str(number))
        found = self.queue.receive_messages(messages_per_page=3, max_messages=5)
        self.assertEqual([message.content for message in found], list("01234"))

    def test_hides_and_expires(self):
        self.queue.send_message("late", visibility_timeout=2)
        self.queue.send_message("short", time_to_live=1)
        ever = self.queue.send_message("ever", time_to_live=-1)
        self.assertEqual(ever.expires_on, datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone.utc))
        self.assertEqual(self.peek_texts(), ["short", "ever"])
        eventually(lambda: sorted(self.peek_texts()) == ["ever", "late"],
                   "the late message did not appear, or the short one stayed")

    def test_gives_a_message_again_after_its_timeout(self):
        self.queue.send_message("again")
        first = self.queue.receive_message(visibility_timeout=1)
        second = eventually(lambda: self.queue.receive_message(visibility_timeout=60),
                            "the message did not come again")
        self.assertEqual((second.id, second.dequeue_count), (first.id, 2))
        for stale in (self.queue.delete_message, self.queue.update_message):
            with self.assertRaises(ResourceNotFoundError):
                stale(first)
        self.queue.delete_message(second)

    def test_clears(self):
        for number in range(40):
            self.queue.send_message(str(number))
        self.queue.receive_message()
        self.queue.clear_messages()
        self.assertEqual(self.queue.get_queue_properties().approximate_message_count, 0)

    def test_refuses_numbers_out_of_range(self):
        for call in (
            lambda: self.queue.send_message("x", visibility_timeout=604801, time_to_live=-1),
            lambda: self.queue.peek_messages(max_messages=33),
            lambda: self.queue.receive_message(visibility_timeout=604801),
        ):
            with self.assertRaises((HttpResponseError, ValueError)) as caught:
                call()
            if isinstance(caught.exception, HttpResponseError):
                self.assertEqual(caught.exception.error_code, "OutOfRangeQueryParameterValue")
        self.assertEqual(self.peek_texts(), [])

    def test_keeps_texts(self):
        texts = ["", " ", "  x  ", "<a b='c'>&amp;</a>", "]]>", "příliš 😀", "a\tb\nc", "100% + 1",
                 "\ufeffx", "x" * 65536, "😀" * 16384]
        for text in texts:
            with self.subTest(text=text[:20]):
                self.queue.send_message(text)
                message = self.queue.receive_message()
                # An empty element has no text for this client.
                self.assertEqual(message.content or "", text)
                self.queue.delete_message(message)

    def test_refuses_a_text_beyond_the_limit(self):
        with self.assertRaises(HttpResponseError) as caught:
            self.queue.send_message("x" * 65537)
        self.assertEqual(caught.exception.status_code, 413)
        self.assertEqual(caught.exception.error_code, "RequestBodyTooLarge")

    def test_encodes_and_decodes_base64(self):
        name = self.queue.queue_name
        text = queue_client(name, message_encode_policy=TextBase64EncodePolicy(),
                            message_decode_policy=TextBase64DecodePolicy())
        with text:
            text.send_message("příliš\r\n😀")
            self.assertEqual(self.peek_texts(), ["cMWZw61sacWhDQrwn5iA"])
            message = text.receive_message()
            self.assertEqual(message.content, "příliš\r\n😀")
            text.delete_message(message)
        binary = queue_client(name, message_encode_policy=BinaryBase64EncodePolicy(),
                              message_decode_policy=BinaryBase64DecodePolicy())
        with binary:
            every = bytes(range(256))
            binary.send_message(every)
            self.assertEqual(binary.receive_message().content, every)

    def test_shares_messages_among_threads(self):
        count = 200
        for number in range(count):
            self.queue.send_message(str(number))
        taken, lock = [], threading.Lock()

        def consume():
            with queue_client(self.queue.queue_name) as client:
                while True:
                    message = client.receive_message(visibility_timeout=3600)
                    if message is None:
                        return
                    client.delete_message(message)
                    with lock:
                        taken.append(message.content)

        threads = [threading.Thread(target=consume) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(taken, key=int), [str(number) for number in range(count)])
        self.assertEqual(self.queue.get_queue_properties().approximate_message_count, 0)


if __name__ == "__main__":
    unittest.main()
