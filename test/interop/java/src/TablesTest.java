import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.azure.core.credential.AzureNamedKeyCredential;
import com.azure.data.tables.TableServiceClient;
import com.azure.data.tables.TableServiceClientBuilder;
import com.azure.data.tables.models.ListTablesOptions;
import com.azure.data.tables.models.TableItem;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class TablesTest {
    private final TableServiceClient service = Server.tables();

    private static ListTablesOptions withPrefix(String prefix) {
        String filter = String.format("TableName ge '%s' and TableName lt '%sz'", prefix, prefix);
        return new ListTablesOptions().setFilter(filter);
    }

    private List<String> names(ListTablesOptions options) {
        return service.listTables(options, null, null).stream().map(TableItem::getName).toList();
    }

    @Test
    void createsListsAndDeletesTables() {
        String prefix = Server.freshName("t");
        Stream.of("a", "b", "c").forEach(letter -> service.createTable(prefix + letter));
        assertEquals(List.of(prefix + "a", prefix + "b", prefix + "c"), names(withPrefix(prefix)));
        service.deleteTable(prefix + "b");
        assertEquals(List.of(prefix + "a", prefix + "c"), names(withPrefix(prefix)));
    }

    @Test
    void pagesThroughTables() {
        String prefix = Server.freshName("t");
        for (int number = 0; number < 5; number++) {
            service.createTable(prefix + number);
        }
        List<Integer> sizes = service.listTables(withPrefix(prefix).setTop(2), null, null)
            .streamByPage().map(page -> page.getValue().size()).toList();
        assertEquals(List.of(2, 2, 1), sizes);
    }

    @Test
    void refusesATableThatExists() {
        String name = Server.freshName("t");
        service.createTable(name);
        Server.assertRefused(409, "TableAlreadyExists", () -> service.createTable(name));
        service.createTableIfNotExists(name);
    }

    @Test
    void refusesIllegalNames() {
        Map<String, String> codes = Map.of("1st", "InvalidResourceName", "ab", "OutOfRangeInput",
            "a".repeat(64), "OutOfRangeInput", "with-dash", "InvalidResourceName");
        codes.forEach((name, code) -> Server.assertRefused(400, code, () -> service.createTable(name)));
    }

    @Test
    void tellsATableThatIsMissing() {
        String name = Server.freshName("t");
        // The client takes the 404 of a deletion for done.
        assertDoesNotThrow(() -> service.deleteTable(name));
        Server.assertRefused(404, "TableNotFound",
            () -> service.getTableClient(name).createEntity(Server.entity("p", "r")));
    }

    @Test
    void refusesAWrongKey() {
        TableServiceClient stranger = new TableServiceClientBuilder()
            .endpoint(Server.SETTINGS.get("TableEndpoint"))
            .credential(new AzureNamedKeyCredential(Server.SETTINGS.get("AccountName"), "d3Jvbmc="))
            .buildClient();
        Server.assertRefused(403, "AuthenticationFailed", () -> stranger.createTable(Server.freshName("t")));
    }
}
