import static org.junit.jupiter.api.Assertions.assertEquals;

import com.azure.core.http.rest.PagedResponse;
import com.azure.data.tables.TableClient;
import com.azure.data.tables.models.ListEntitiesOptions;
import com.azure.data.tables.models.TableEntity;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class QueriesTest {
    private final TableClient table = Server.freshTable();

    private List<String> rows(String filter) {
        return table.listEntities(new ListEntitiesOptions().setFilter(filter), null, null)
            .stream().map(TableEntity::getRowKey).toList();
    }

    @Test
    void filtersByEveryType() {
        OffsetDateTime moment = OffsetDateTime.parse("2025-11-21T10:30:15.123456700Z");
        UUID identity = UUID.fromString("c9da6455-213d-42c9-9a79-3e9149a57833");
        table.createEntity(Server.entity("p", "yes", "Text", "O'Neil & co", "Small", 7, "Big", 1L << 40,
            "Real", 2.5, "Truth", true, "Moment", moment, "Identity", identity,
            "Bytes", new byte[] {1, (byte) 0xff}));
        table.createEntity(Server.entity("p", "no", "Text", "x", "Small", 1, "Big", 1L,
            "Real", 0.5, "Truth", false, "Moment", moment.minusDays(1), "Identity", UUID.randomUUID(),
            "Bytes", new byte[] {1}));
        Map<String, String> values = Map.of("Text", "'O''Neil & co'", "Small", "7", "Big", "1099511627776L",
            "Real", "2.5", "Truth", "true", "Moment", "datetime'2025-11-21T10:30:15.1234567Z'",
            "Identity", "guid'" + identity + "'", "Bytes", "X'01ff'");
        values.forEach((name, value) -> {
            assertEquals(List.of("yes"), rows(name + " eq " + value));
            assertEquals(List.of("no"), rows(name + " ne " + value));
            assertEquals(List.of("no"), rows("not (" + name + " eq " + value + ")"));
        });
    }

    @Test
    void filtersByKeyRanges() {
        Server.insertNumbers(table, "p", 300);
        Server.insertNumbers(table, "q", 10);
        assertEquals(List.of("00100", "00101", "00102"),
            rows("PartitionKey eq 'p' and RowKey ge '00100' and RowKey lt '00103'"));
        assertEquals(List.of("00000", "00001", "00005", "00005"),
            rows("Number eq 5 or (PartitionKey eq 'p' and Number lt 2)"));
    }

    @Test
    void selectsProperties() {
        table.createEntity(Server.entity("p", "r", "A", 1, "B", 2));
        ListEntitiesOptions options = new ListEntitiesOptions()
            .setSelect(List.of("PartitionKey", "RowKey", "B"));
        TableEntity found = table.listEntities(options, null, null).stream().findFirst().orElseThrow();
        Set<String> names = found.getProperties().keySet().stream()
            .filter(name -> !name.contains("odata.")).collect(Collectors.toSet());
        assertEquals(Set.of("PartitionKey", "RowKey", "B"), names);
        assertEquals(2, table.getEntityWithResponse("p", "r", List.of("PartitionKey", "RowKey", "B"), null, null)
            .getValue().getProperty("B"));
    }

    @Test
    void pagesThroughManyRowsAndGoesOnFromAToken() {
        Server.insertNumbers(table, "p", 2500);
        List<PagedResponse<TableEntity>> pages = table.listEntities().streamByPage().toList();
        assertEquals(List.of(1000, 1000, 500),
            pages.stream().map(page -> page.getValue().size()).toList());
        assertEquals(IntStream.range(0, 2500).boxed().toList(), pages.stream()
            .flatMap(page -> page.getValue().stream()).map(each -> each.getProperty("Number")).toList());
        String token = pages.get(0).getContinuationToken();
        List<Object> rest = table.listEntities().streamByPage(token)
            .flatMap(page -> page.getValue().stream()).map(each -> each.getProperty("Number")).toList();
        assertEquals(IntStream.range(1000, 2500).boxed().toList(), rest);
    }

    @Test
    void givesNoMoreThanTopInAPage() {
        Server.insertNumbers(table, "p", 25);
        List<Integer> sizes = table.listEntities(new ListEntitiesOptions().setTop(10), null, null)
            .streamByPage().map(page -> page.getValue().size()).toList();
        assertEquals(List.of(10, 10, 5), sizes);
    }

    @Test
    void refusesAMalformedFilter() {
        Server.assertRefused(400, "InvalidInput", () -> rows("PartitionKey eq"));
    }
}
