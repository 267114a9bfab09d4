import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.core.exception.HttpResponseException;
import com.azure.core.http.policy.FixedDelayOptions;
import com.azure.core.http.policy.RetryOptions;
import com.azure.data.tables.TableClient;
import com.azure.data.tables.TableServiceClient;
import com.azure.data.tables.TableServiceClientBuilder;
import com.azure.data.tables.models.TableEntity;
import com.azure.data.tables.models.TableTransactionAction;
import com.azure.data.tables.models.TableTransactionActionType;
import com.azure.storage.blob.models.BlobStorageException;
import com.azure.storage.queue.QueueClient;
import com.azure.storage.queue.QueueServiceClient;
import com.azure.storage.queue.QueueServiceClientBuilder;
import com.azure.storage.queue.models.QueueStorageException;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.function.Executable;

/**
 * Where the server is that the tests talk to, and what several of them need. `npm run test:interop`
 * puts the connection strings of its servers into the environment.
 */
final class Server {
    static final String CONNECTION_STRING = System.getenv("TABULARIUM_CONNECTION_STRING");
    static final Map<String, String> SETTINGS = settingsOf(CONNECTION_STRING);
    static final RetryOptions NO_RETRIES =
        new RetryOptions(new FixedDelayOptions(0, Duration.ofMillis(1)));

    private Server() {}

    static Map<String, String> settingsOf(String connectionString) {
        Map<String, String> settings = new HashMap<>();
        for (String part : connectionString.split(";")) {
            String[] pair = part.split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        return settings;
    }

    static TableServiceClient tables() {
        return new TableServiceClientBuilder().connectionString(CONNECTION_STRING).buildClient();
    }

    static QueueServiceClient queues() {
        return new QueueServiceClientBuilder().connectionString(CONNECTION_STRING).buildClient();
    }

    /** A name of a table or a queue that no other test uses. */
    static String freshName(String letter) {
        return letter + UUID.randomUUID().toString().replace("-", "");
    }

    static TableClient freshTable() {
        return tables().createTable(freshName("t"));
    }

    static QueueClient freshQueue() {
        return queues().createQueue(freshName("q"));
    }

    static OffsetDateTime inHours(int hours) {
        return OffsetDateTime.now(ZoneOffset.UTC).truncatedTo(ChronoUnit.SECONDS).plusHours(hours);
    }

    static TableEntity entity(String partition, String row, Object... namesAndValues) {
        TableEntity entity = new TableEntity(partition, row);
        for (int index = 0; index < namesAndValues.length; index += 2) {
            entity.addProperty((String) namesAndValues[index], namesAndValues[index + 1]);
        }
        return entity;
    }

    static TableTransactionAction action(TableTransactionActionType type, TableEntity entity) {
        return new TableTransactionAction(type, entity);
    }

    /** Fills a partition with rows 00000, 00001, … */
    static void insertNumbers(TableClient table, String partition, int count) {
        for (int first = 0; first < count; first += 100) {
            List<TableTransactionAction> actions = new ArrayList<>();
            for (int number = first; number < Math.min(first + 100, count); number++) {
                TableEntity row = entity(partition, String.format("%05d", number), "Number", number);
                actions.add(action(TableTransactionActionType.CREATE, row));
            }
            table.submitTransaction(actions);
        }
    }

    /** Expects a status and a code of the service, and gives the exception. */
    static HttpResponseException assertRefused(int status, String code, Executable call) {
        HttpResponseException refusal = assertThrows(HttpResponseException.class, call);
        assertEquals(status, refusal.getResponse().getStatusCode(), refusal.getMessage());
        assertTrue(codeOf(refusal).contains(code), refusal.getMessage());
        return refusal;
    }

    private static String codeOf(HttpResponseException refusal) {
        if (refusal instanceof BlobStorageException ofBlobs) {
            return ofBlobs.getErrorCode().toString();
        }
        if (refusal instanceof QueueStorageException ofQueues) {
            return ofQueues.getErrorCode().toString();
        }
        // Not every exception of the client of tables knows the code: all have it in the body.
        return refusal.getResponse().getBodyAsString().block();
    }

    /** Waits until the condition holds. */
    static void eventually(String complaint, BooleanSupplier condition) throws InterruptedException {
        OffsetDateTime deadline = OffsetDateTime.now().plusSeconds(30);
        while (!condition.getAsBoolean()) {
            assertTrue(OffsetDateTime.now().isBefore(deadline), complaint);
            Thread.sleep(100);
        }
    }
}
