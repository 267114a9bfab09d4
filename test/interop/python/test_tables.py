"""Tables, entities, queries and transactions."""

import unittest
import uuid
from datetime import datetime, timedelta, timezone

from azure.core import MatchConditions
from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ResourceExistsError,
    ResourceModifiedError,
    ResourceNotFoundError,
)
from azure.data.tables import (
    EdmType,
    EntityProperty,
    TableClient,
    TableServiceClient,
    TableTransactionError,
    UpdateMode,
)
from server import CONNECTION_STRING, fresh_name


class ServiceTests(unittest.TestCase):
    def setUp(self):
        self.service = TableServiceClient.from_connection_string(CONNECTION_STRING)
        self.addCleanup(self.service.close)

    def test_creates_lists_and_deletes_tables(self):
        prefix = fresh_name()
        names = [prefix + letter for letter in "abc"]
        for name in names:
            self.service.create_table(name)
        bounds = {"low": prefix, "high": prefix + "z"}
        text = "TableName ge @low and TableName lt @high"
        found = [t.name for t in self.service.query_tables(text, parameters=bounds)]
        self.assertEqual(found, names)
        self.service.delete_table(names[1])
        found = [t.name for t in self.service.list_tables() if t.name.startswith(prefix)]
        self.assertEqual(found, [names[0], names[2]])

    def test_pages_through_tables(self):
        prefix = fresh_name()
        names = [f"{prefix}{number}" for number in range(5)]
        for name in names:
            self.service.create_table(name)
        bounds = {"low": prefix, "high": prefix + "z"}
        text = "TableName ge @low and TableName lt @high"
        pages = self.service.query_tables(text, parameters=bounds, results_per_page=2).by_page()
        self.assertEqual([[t.name for t in page] for page in pages],
                         [names[0:2], names[2:4], names[4:5]])

    def test_refuses_a_table_that_exists(self):
        name = fresh_name()
        self.service.create_table(name)
        with self.assertRaises(ResourceExistsError) as caught:
            self.service.create_table(name)
        self.assertEqual(caught.exception.error_code, "TableAlreadyExists")
        self.service.create_table_if_not_exists(name)

    def test_refuses_an_illegal_table_name(self):
        with self.assertRaises(ValueError):
            self.service.create_table("-wrong")

    def test_deletes_a_missing_table_quietly(self):
        self.service.delete_table(fresh_name())

    def test_refuses_a_wrong_key(self):
        parts = CONNECTION_STRING.strip(";").split(";")
        parts = [part for part in parts if not part.startswith("AccountKey=")]
        wrong = ";".join(parts + ["AccountKey=d3Jvbmc="])
        with TableServiceClient.from_connection_string(wrong) as service:
            with self.assertRaises(ClientAuthenticationError) as caught:
                list(service.list_tables())
            self.assertEqual(caught.exception.status_code, 403)


class TableTests(unittest.TestCase):
    """Every test has a table of its own."""

    def setUp(self):
        self.table = TableClient.from_connection_string(CONNECTION_STRING, fresh_name())
        self.table.create_table()
        self.addCleanup(self.table.close)
        self.addCleanup(self.table.delete_table)

    def insert_numbers(self, partition: str, count: int):
        for first in range(0, count, 100):
            rows = range(first, min(first + 100, count))
            self.table.submit_transaction([
                ("create", {"PartitionKey": partition, "RowKey": f"{row:05}", "Number": row})
                for row in rows
            ])


class EntityTests(TableTests):
    def test_creates_reads_and_deletes_an_entity(self):
        self.table.create_entity({"PartitionKey": "p", "RowKey": "r", "Name": "Ada"})
        entity = self.table.get_entity("p", "r")
        self.assertEqual(dict(entity), {"PartitionKey": "p", "RowKey": "r", "Name": "Ada"})
        age = datetime.now(timezone.utc) - entity.metadata["timestamp"]
        self.assertLess(abs(age), timedelta(minutes=1))
        self.table.delete_entity("p", "r")
        with self.assertRaises(ResourceNotFoundError) as caught:
            self.table.get_entity("p", "r")
        self.assertEqual(caught.exception.error_code, "ResourceNotFound")
        self.table.delete_entity("p", "r")

    def test_refuses_an_entity_that_exists(self):
        self.table.create_entity({"PartitionKey": "p", "RowKey": "r"})
        with self.assertRaises(ResourceExistsError) as caught:
            self.table.create_entity({"PartitionKey": "p", "RowKey": "r"})
        # `create_entity` is the one call whose exceptions carry no `error_code`.
        self.assertIn("EntityAlreadyExists", caught.exception.response.text())

    def test_refuses_an_entity_without_a_table(self):
        with TableClient.from_connection_string(CONNECTION_STRING, fresh_name()) as missing:
            with self.assertRaises(ResourceNotFoundError) as caught:
                missing.create_entity({"PartitionKey": "p", "RowKey": "r"})
        self.assertIn("TableNotFound", caught.exception.response.text())

    def test_keeps_every_type(self):
        moment = datetime(2025, 11, 21, 10, 30, 15, 123456, tzinfo=timezone.utc)
        identity = uuid.uuid4()
        self.table.create_entity({
            "PartitionKey": "p",
            "RowKey": "r",
            "Text": "žluťoučký kůň 🐎",
            "Empty": "",
            "Small": 7,
            "Big": EntityProperty(2**62 + 1, EdmType.INT64),
            "Negative": EntityProperty(-(2**63), EdmType.INT64),
            "Whole": 3.0,
            "Fraction": -2.5e-300,
            "Truth": True,
            "Moment": moment,
            "Identity": identity,
            "Bytes": b"\x00\x01\xfe\xff",
            "Nothing": None,
        })
        entity = self.table.get_entity("p", "r")
        self.assertEqual(entity["Text"], "žluťoučký kůň 🐎")
        self.assertEqual(entity["Empty"], "")
        self.assertEqual(entity["Small"], 7)
        self.assertEqual(entity["Big"], EntityProperty(2**62 + 1, EdmType.INT64))
        self.assertEqual(entity["Negative"], EntityProperty(-(2**63), EdmType.INT64))
        self.assertEqual(entity["Whole"], 3.0)
        self.assertIsInstance(entity["Whole"], float)
        self.assertEqual(entity["Fraction"], -2.5e-300)
        self.assertIs(entity["Truth"], True)
        self.assertEqual(entity["Moment"], moment)
        self.assertEqual(entity["Identity"], identity)
        self.assertEqual(entity["Bytes"], b"\x00\x01\xfe\xff")
        self.assertNotIn("Nothing", entity)

    def test_keeps_doubles_that_are_not_numbers(self):
        values = {"Infinite": float("inf"), "Negative": float("-inf")}
        self.table.create_entity({"PartitionKey": "p", "RowKey": "r", "Odd": float("nan"), **values})
        entity = self.table.get_entity("p", "r")
        self.assertEqual({name: entity[name] for name in values}, values)
        self.assertNotEqual(entity["Odd"], entity["Odd"])

    def test_converts_other_time_zones_to_utc(self):
        prague = timezone(timedelta(hours=1))
        moment = datetime(2025, 1, 1, 0, 30, tzinfo=prague)
        self.table.create_entity({"PartitionKey": "p", "RowKey": "r", "Moment": moment})
        stored = self.table.get_entity("p", "r")["Moment"]
        self.assertEqual(stored, moment)
        self.assertEqual(stored.utcoffset(), timedelta(0))

    def test_merges_and_replaces(self):
        self.table.create_entity({"PartitionKey": "p", "RowKey": "r", "A": 1, "B": 2})
        self.table.update_entity({"PartitionKey": "p", "RowKey": "r", "B": 3}, UpdateMode.MERGE)
        self.assertEqual(dict(self.table.get_entity("p", "r")),
                         {"PartitionKey": "p", "RowKey": "r", "A": 1, "B": 3})
        self.table.update_entity({"PartitionKey": "p", "RowKey": "r", "C": 4}, UpdateMode.REPLACE)
        self.assertEqual(dict(self.table.get_entity("p", "r")),
                         {"PartitionKey": "p", "RowKey": "r", "C": 4})

    def test_update_wants_an_existing_entity(self):
        for mode in (UpdateMode.MERGE, UpdateMode.REPLACE):
            with self.assertRaises(ResourceNotFoundError) as caught:
                self.table.update_entity({"PartitionKey": "p", "RowKey": "missing"}, mode)
            self.assertEqual(caught.exception.error_code, "ResourceNotFound")

    def test_upserts_insert_and_then_change(self):
        for mode, left in ((UpdateMode.MERGE, {"A": 1, "B": 2}), (UpdateMode.REPLACE, {"B": 2})):
            keys = {"PartitionKey": "p", "RowKey": str(mode)}
            self.table.upsert_entity({**keys, "A": 1}, mode)
            self.table.upsert_entity({**keys, "B": 2}, mode)
            self.assertEqual(dict(self.table.get_entity(**snake(keys))), {**keys, **left})

    def test_refuses_a_stale_etag(self):
        keys = {"PartitionKey": "p", "RowKey": "r"}
        self.table.create_entity({**keys, "A": 1})
        stale = self.table.get_entity("p", "r").metadata["etag"]
        self.table.update_entity({**keys, "A": 2})
        match = {"etag": stale, "match_condition": MatchConditions.IfNotModified}
        for mode in (UpdateMode.MERGE, UpdateMode.REPLACE):
            with self.assertRaises(ResourceModifiedError) as caught:
                self.table.update_entity({**keys, "A": 3}, mode, **match)
            self.assertEqual(caught.exception.status_code, 412)
            self.assertEqual(caught.exception.error_code, "UpdateConditionNotSatisfied")
        with self.assertRaises(ResourceModifiedError):
            self.table.delete_entity("p", "r", **match)
        fresh = self.table.get_entity("p", "r").metadata["etag"]
        self.table.update_entity({**keys, "A": 4}, etag=fresh,
                                 match_condition=MatchConditions.IfNotModified)
        self.assertEqual(self.table.get_entity("p", "r")["A"], 4)

    def test_takes_keys_with_odd_characters(self):
        odd = ["", " ", "O'Neil", "a b+c", "100%", "50%25", "a&b=c;d", "(x)", "č", "日本", "🐎", "$@!*~"]
        for key in odd:
            self.table.create_entity({"PartitionKey": key, "RowKey": key, "Key": key})
        for key in odd:
            with self.subTest(key=key):
                self.assertEqual(self.table.get_entity(key, key)["Key"], key)
                found = list(self.table.query_entities("RowKey eq @k", parameters={"k": key}))
                self.assertEqual([entity["Key"] for entity in found], [key])
                self.table.upsert_entity({"PartitionKey": key, "RowKey": key, "Key": key + "!"})
                self.table.delete_entity(key, key)
        self.assertEqual(list(self.table.list_entities()), [])

    def test_refuses_keys_with_forbidden_characters(self):
        for key in ("a/b", "a\\b", "a#b", "a?b"):
            with self.subTest(key=key), self.assertRaises((HttpResponseError, ValueError)):
                self.table.create_entity({"PartitionKey": key, "RowKey": "r"})


def snake(keys):
    """The keys as arguments of `get_entity`."""
    return {"partition_key": keys["PartitionKey"], "row_key": keys["RowKey"]}


class QueryTests(TableTests):
    def found(self, text, **parameters):
        """The row keys that a filter finds. The client wants a blank around each parameter."""
        found = self.table.query_entities(text, parameters=parameters)
        return [entity["RowKey"] for entity in found]

    def test_filters_by_parameters_of_every_type(self):
        moment = datetime(2025, 11, 21, 10, 30, 15, 123456, tzinfo=timezone.utc)
        identity = uuid.uuid4()
        self.table.create_entity({
            "PartitionKey": "p", "RowKey": "yes", "Text": "O'Neil & co", "Small": 7,
            "Big": EntityProperty(2**40, EdmType.INT64), "Real": 2.5, "Truth": True,
            "Moment": moment, "Identity": identity, "Bytes": b"\x01\xff",
        })
        self.table.create_entity({
            "PartitionKey": "p", "RowKey": "no", "Text": "x", "Small": 1,
            "Big": EntityProperty(1, EdmType.INT64), "Real": 0.5, "Truth": False,
            "Moment": moment - timedelta(days=1), "Identity": uuid.uuid4(), "Bytes": b"\x01",
        })
        values = {
            "Text": "O'Neil & co", "Small": 7, "Big": 2**40,
            "Real": 2.5, "Truth": True, "Moment": moment, "Identity": identity,
            "Bytes": b"\x01\xff",
        }
        for name, value in values.items():
            with self.subTest(name=name):
                self.assertEqual(self.found(f"{name} eq @v", v=value), ["yes"])
                self.assertEqual(self.found(f"{name} ne @v", v=value), ["no"])
                self.assertEqual(self.found(f"not ( {name} eq @v )", v=value), ["no"])

    def test_filters_by_key_ranges(self):
        self.insert_numbers("p", 300)
        self.insert_numbers("q", 10)
        found = self.found("PartitionKey eq @p and RowKey ge @low and RowKey lt @high",
                           p="p", low="00100", high="00105")
        self.assertEqual(found, ["00100", "00101", "00102", "00103", "00104"])
        found = self.found("Number eq @n or ( PartitionKey eq 'p' and Number lt @m )", n=5, m=2)
        self.assertEqual(found, ["00000", "00001", "00005", "00005"])

    def test_selects_properties(self):
        self.table.create_entity({"PartitionKey": "p", "RowKey": "r", "A": 1, "B": 2})
        found = [dict(entity) for entity in self.table.list_entities(select=["RowKey", "B"])]
        self.assertEqual(found, [{"RowKey": "r", "B": 2}])

    def test_pages_through_many_rows(self):
        self.insert_numbers("p", 2500)
        pages = [list(page) for page in self.table.list_entities().by_page()]
        self.assertEqual([len(page) for page in pages], [1000, 1000, 500])
        numbers = [entity["Number"] for page in pages for entity in page]
        self.assertEqual(numbers, list(range(2500)))

    def test_continues_from_a_kept_token(self):
        self.insert_numbers("p", 25)
        pages = self.table.list_entities(results_per_page=10).by_page()
        next(pages)
        token = pages.continuation_token
        rest = self.table.list_entities(results_per_page=10).by_page(continuation_token=token)
        self.assertEqual([e["Number"] for page in rest for e in page], list(range(10, 25)))

    def test_refuses_a_malformed_filter(self):
        with self.assertRaises(HttpResponseError) as caught:
            self.found("PartitionKey eq")
        self.assertEqual(caught.exception.status_code, 400)
        self.assertEqual(caught.exception.error_code, "InvalidInput")


class TransactionTests(TableTests):
    def test_applies_every_kind_of_operation_at_once(self):
        for row in ("merged", "replaced", "deleted"):
            self.table.create_entity({"PartitionKey": "p", "RowKey": row, "A": 1})
        results = self.table.submit_transaction([
            ("create", {"PartitionKey": "p", "RowKey": "created", "A": 1}),
            ("update", {"PartitionKey": "p", "RowKey": "merged", "B": 2}, {"mode": "merge"}),
            ("update", {"PartitionKey": "p", "RowKey": "replaced", "B": 2}, {"mode": "replace"}),
            ("upsert", {"PartitionKey": "p", "RowKey": "upserted", "C": 3}),
            ("delete", {"PartitionKey": "p", "RowKey": "deleted"}),
        ])
        self.assertEqual(len(results), 5)
        self.assertTrue(all("etag" in result for result in results[:4]))
        entities = {entity["RowKey"]: dict(entity) for entity in self.table.list_entities()}
        self.assertEqual(sorted(entities), ["created", "merged", "replaced", "upserted"])
        self.assertEqual(entities["merged"].get("A"), 1)
        self.assertNotIn("A", entities["replaced"])

    def test_takes_100_operations_and_refuses_101(self):
        rows = [("create", {"PartitionKey": "p", "RowKey": f"{row:03}"}) for row in range(101)]
        with self.assertRaises(TableTransactionError) as caught:
            self.table.submit_transaction(rows)
        self.assertEqual(caught.exception.error_code, "InvalidInput")
        self.assertEqual(list(self.table.list_entities()), [])
        self.table.submit_transaction(rows[:100])
        self.assertEqual(len(list(self.table.list_entities())), 100)

    def test_applies_nothing_when_one_operation_fails(self):
        self.table.create_entity({"PartitionKey": "p", "RowKey": "taken"})
        with self.assertRaises(TableTransactionError) as caught:
            self.table.submit_transaction([
                ("create", {"PartitionKey": "p", "RowKey": "new"}),
                ("create", {"PartitionKey": "p", "RowKey": "taken"}),
            ])
        self.assertEqual(caught.exception.index, 1)
        self.assertEqual(caught.exception.error_code, "EntityAlreadyExists")
        self.assertEqual([e["RowKey"] for e in self.table.list_entities()], ["taken"])

    def test_refuses_the_same_entity_twice(self):
        row = {"PartitionKey": "p", "RowKey": "r"}
        with self.assertRaises(TableTransactionError) as caught:
            self.table.submit_transaction([("upsert", row), ("delete", row)])
        self.assertEqual(caught.exception.error_code, "InvalidDuplicateRow")

    def test_refuses_a_stale_etag(self):
        row = {"PartitionKey": "p", "RowKey": "r", "A": 1}
        stale = self.table.create_entity(row)["etag"]
        self.table.upsert_entity({**row, "A": 2})
        match = {"etag": stale, "match_condition": MatchConditions.IfNotModified}
        with self.assertRaises(TableTransactionError) as caught:
            self.table.submit_transaction([
                ("create", {"PartitionKey": "p", "RowKey": "new"}),
                ("update", row, match),
            ])
        self.assertEqual(caught.exception.index, 1)
        self.assertEqual(caught.exception.error_code, "UpdateConditionNotSatisfied")

    def test_refuses_a_missing_table(self):
        with TableClient.from_connection_string(CONNECTION_STRING, fresh_name()) as missing:
            with self.assertRaises(TableTransactionError) as caught:
                missing.submit_transaction([("create", {"PartitionKey": "p", "RowKey": "r"})])
        self.assertEqual(caught.exception.error_code, "TableNotFound")

    def test_keeps_odd_keys_and_values(self):
        keys = ["O'Neil", "a b+c", "100%", "č", "🐎"]
        rows = [{"PartitionKey": "p'ř", "RowKey": key, "Key": key} for key in keys]
        self.table.submit_transaction([("create", row) for row in rows])
        self.table.submit_transaction([("update", {**row, "New": 1}) for row in rows])
        found = {entity["RowKey"]: entity["Key"] for entity in self.table.list_entities()}
        self.assertEqual(found, {key: key for key in keys})
        self.table.submit_transaction([("delete", row) for row in rows])
        self.assertEqual(list(self.table.list_entities()), [])


if __name__ == "__main__":
    unittest.main()
