import static com.azure.data.tables.models.TableTransactionActionType.CREATE;
import static com.azure.data.tables.models.TableTransactionActionType.DELETE;
import static com.azure.data.tables.models.TableTransactionActionType.UPDATE_MERGE;
import static com.azure.data.tables.models.TableTransactionActionType.UPDATE_REPLACE;
import static com.azure.data.tables.models.TableTransactionActionType.UPSERT_MERGE;
import static com.azure.data.tables.models.TableTransactionActionType.UPSERT_REPLACE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.azure.data.tables.TableClient;
import com.azure.data.tables.models.TableEntity;
import com.azure.data.tables.models.TableTransactionAction;
import com.azure.data.tables.models.TableTransactionFailedException;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class TransactionsTest {
    private final TableClient table = Server.freshTable();

    private List<String> rows() {
        return table.listEntities().stream().map(TableEntity::getRowKey).toList();
    }

    private void assertFails(int index, String code, List<TableTransactionAction> actions) {
        TableTransactionFailedException failure = assertThrows(TableTransactionFailedException.class,
            () -> table.submitTransaction(actions));
        assertEquals(code, failure.getValue().getErrorCode().toString());
        assertEquals(index, failure.getFailedTransactionActionIndex());
    }

    @Test
    void appliesEveryKindOfOperationAtOnce() {
        for (String row : List.of("merged", "replaced", "deleted")) {
            table.createEntity(Server.entity("p", row, "A", 1));
        }
        List<Integer> statuses = table.submitTransaction(List.of(
            Server.action(CREATE, Server.entity("p", "created", "B", 2)),
            Server.action(UPDATE_MERGE, Server.entity("p", "merged", "B", 2)),
            Server.action(UPDATE_REPLACE, Server.entity("p", "replaced", "B", 2)),
            Server.action(UPSERT_MERGE, Server.entity("p", "upserted", "B", 2)),
            Server.action(UPSERT_REPLACE, Server.entity("p", "written", "B", 2)),
            Server.action(DELETE, Server.entity("p", "deleted"))
        )).getTransactionActionResponses().stream().map(each -> each.getStatusCode()).toList();
        assertEquals(List.of(204, 204, 204, 204, 204, 204), statuses);
        assertEquals(List.of("created", "merged", "replaced", "upserted", "written"), rows());
        assertEquals(1, table.getEntity("p", "merged").getProperty("A"));
        assertNull(table.getEntity("p", "replaced").getProperty("A"));
    }

    @Test
    void takes100OperationsAndRefuses101() {
        List<TableTransactionAction> actions = IntStream.range(0, 101)
            .mapToObj(row -> Server.action(CREATE, Server.entity("p", String.format("%03d", row)))).toList();
        assertFails(99, "InvalidInput", actions);
        assertEquals(List.of(), rows());
        table.submitTransaction(actions.subList(0, 100));
        assertEquals(100, rows().size());
    }

    @Test
    void saysWhereItFailsAndAppliesNothing() {
        table.createEntity(Server.entity("p", "taken"));
        assertFails(2, "EntityAlreadyExists", List.of(
            Server.action(CREATE, Server.entity("p", "new")),
            Server.action(UPSERT_MERGE, Server.entity("p", "newer")),
            Server.action(CREATE, Server.entity("p", "taken"))));
        assertEquals(List.of("taken"), rows());
    }

    @Test
    void refusesTheSameEntityTwice() {
        assertFails(1, "InvalidDuplicateRow", List.of(
            Server.action(UPSERT_MERGE, Server.entity("p", "r")),
            Server.action(DELETE, Server.entity("p", "r"))));
    }

    @Test
    void refusesAMissingEntity() {
        assertFails(1, "ResourceNotFound", List.of(
            Server.action(CREATE, Server.entity("p", "new")),
            Server.action(UPDATE_MERGE, Server.entity("p", "missing"))));
        assertEquals(List.of(), rows());
    }

    @Test
    void refusesAStaleETag() {
        table.createEntity(Server.entity("p", "r", "A", 1));
        TableEntity stale = table.getEntity("p", "r");
        table.upsertEntity(Server.entity("p", "r", "A", 2));
        assertFails(1, "UpdateConditionNotSatisfied", List.of(
            Server.action(CREATE, Server.entity("p", "new")),
            new TableTransactionAction(UPDATE_REPLACE, stale.addProperty("A", 3), true)));
        assertEquals(List.of("r"), rows());
    }
}
