import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.data.tables.TableClient;
import com.azure.data.tables.models.ListEntitiesOptions;
import com.azure.data.tables.models.TableEntity;
import com.azure.data.tables.models.TableEntityUpdateMode;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class EntitiesTest {
    private final TableClient table = Server.freshTable();

    /** The properties of an entity without those that every entity has. */
    private Map<String, Object> stored(String partition, String row) {
        Map<String, Object> properties =
            new HashMap<>(table.getEntity(partition, row).getProperties());
        properties.keySet().removeIf(name -> name.contains("odata.")
            || List.of("PartitionKey", "RowKey", "Timestamp").contains(name));
        return properties;
    }

    @Test
    void createsReadsAndDeletesAnEntity() {
        table.createEntity(Server.entity("p", "r", "Name", "Ada"));
        TableEntity found = table.getEntity("p", "r");
        assertEquals("Ada", found.getProperty("Name"));
        assertTrue(found.getETag().startsWith("W/\"datetime'"));
        Duration age = Duration.between(found.getTimestamp(), OffsetDateTime.now()).abs();
        assertTrue(age.compareTo(Duration.ofMinutes(1)) < 0);
        table.deleteEntity("p", "r");
        Server.assertRefused(404, "ResourceNotFound", () -> table.getEntity("p", "r"));
        // The client takes the 404 of a deletion for done.
        assertDoesNotThrow(() -> table.deleteEntity("p", "r"));
    }

    @Test
    void refusesAnEntityThatExists() {
        table.createEntity(Server.entity("p", "r"));
        Server.assertRefused(409, "EntityAlreadyExists",
            () -> table.createEntity(Server.entity("p", "r")));
    }

    @Test
    void keepsEveryType() {
        Map<String, Object> properties = new HashMap<>();
        properties.put("Text", "žluťoučký kůň 🐎");
        properties.put("Empty", "");
        properties.put("Small", Integer.MIN_VALUE);
        properties.put("Big", Long.MAX_VALUE);
        properties.put("Negative", Long.MIN_VALUE);
        properties.put("Whole", 3.0);
        properties.put("Fraction", -2.5e-300);
        properties.put("Large", Double.MAX_VALUE);
        properties.put("Tiny", Double.MIN_VALUE);
        // NaN and infinities are sent by this client as strings without a type, and stay strings.
        properties.put("Truth", true);
        properties.put("Untruth", false);
        properties.put("Moment", OffsetDateTime.parse("2025-11-21T10:30:15.123456700Z"));
        properties.put("First", OffsetDateTime.parse("1601-01-01T00:00:00Z"));
        properties.put("Last", OffsetDateTime.parse("9999-12-31T23:59:59.999999900Z"));
        properties.put("Identity", UUID.fromString("c9da6455-213d-42c9-9a79-3e9149a57833"));
        TableEntity entity = new TableEntity("p", "r");
        properties.forEach(entity::addProperty);
        byte[] bytes = {0, 1, (byte) 0xfe, (byte) 0xff};
        entity.addProperty("Bytes", bytes).addProperty("NoBytes", new byte[0]);
        table.createEntity(entity);
        Map<String, Object> found = stored("p", "r");
        assertArrayEquals(bytes, (byte[]) found.remove("Bytes"));
        assertArrayEquals(new byte[0], (byte[]) found.remove("NoBytes"));
        assertEquals(properties.keySet(), found.keySet());
        properties.forEach((name, value) -> assertEquals(value, found.get(name), name));
    }

    @Test
    void mergesAndReplaces() {
        table.createEntity(Server.entity("p", "r", "A", 1, "B", 2));
        table.updateEntity(Server.entity("p", "r", "B", 3), TableEntityUpdateMode.MERGE);
        assertEquals(Map.of("A", 1, "B", 3), stored("p", "r"));
        table.updateEntity(Server.entity("p", "r", "C", 4), TableEntityUpdateMode.REPLACE);
        assertEquals(Map.of("C", 4), stored("p", "r"));
        for (TableEntityUpdateMode mode : TableEntityUpdateMode.values()) {
            Server.assertRefused(404, "ResourceNotFound",
                () -> table.updateEntity(Server.entity("p", "missing"), mode));
        }
    }

    @Test
    void upserts() {
        Map<TableEntityUpdateMode, Map<String, Object>> left = Map.of(
            TableEntityUpdateMode.MERGE, Map.of("A", 1, "B", 2),
            TableEntityUpdateMode.REPLACE, Map.of("B", 2));
        left.forEach((mode, properties) -> {
            String row = mode.toString();
            table.upsertEntityWithResponse(Server.entity("p", row, "A", 1), mode, null, null);
            table.upsertEntityWithResponse(Server.entity("p", row, "B", 2), mode, null, null);
            assertEquals(properties, stored("p", row));
        });
    }

    @Test
    void refusesAStaleETag() {
        table.createEntity(Server.entity("p", "r", "A", 1));
        TableEntity stale = table.getEntity("p", "r");
        table.upsertEntity(Server.entity("p", "r", "A", 2));
        stale.addProperty("A", 3);
        for (TableEntityUpdateMode mode : TableEntityUpdateMode.values()) {
            Server.assertRefused(412, "UpdateConditionNotSatisfied",
                () -> table.updateEntityWithResponse(stale, mode, true, null, null));
        }
        Server.assertRefused(412, "UpdateConditionNotSatisfied",
            () -> table.deleteEntityWithResponse(stale, true, null, null));
        assertEquals(Map.of("A", 2), stored("p", "r"));
        TableEntity fresh = table.getEntity("p", "r").addProperty("A", 4);
        table.updateEntityWithResponse(fresh, TableEntityUpdateMode.REPLACE, true, null, null);
        table.deleteEntityWithResponse(table.getEntity("p", "r"), true, null, null);
    }

    @Test
    void takesOddKeys() {
        for (String key : List.of(" ", "O'Neil", "a b+c", "100%", "50%25", "a&b=c;d", "(x)", "č", "日本",
            "🐎", "$@!*~")) {
            table.createEntity(Server.entity(key, key, "Key", key));
            assertEquals(key, table.getEntity(key, key).getProperty("Key"));
            String filter = "RowKey eq '" + key.replace("'", "''") + "'";
            List<String> found = table.listEntities(new ListEntitiesOptions().setFilter(filter), null, null)
                .stream().map(TableEntity::getRowKey).toList();
            assertEquals(List.of(key), found);
            table.upsertEntity(Server.entity(key, key, "New", 1));
            assertEquals(Map.of("Key", key, "New", 1), stored(key, key));
            table.deleteEntity(key, key);
        }
        assertEquals(0, table.listEntities().stream().count());
    }

    @Test
    void refusesForbiddenKeys() {
        for (String key : List.of("a/b", "a\\b", "a#b", "a?b", "a\tb")) {
            Server.assertRefused(400, "OutOfRangeInput",
                () -> table.createEntity(Server.entity(key, "r")));
        }
        Server.assertRefused(400, "PropertyValueTooLarge",
            () -> table.createEntity(Server.entity("p", "x".repeat(513))));
    }
}
