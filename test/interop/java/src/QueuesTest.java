import static org.junit.jupiter.api.Assertions.assertEquals;

import com.azure.core.credential.AzureNamedKeyCredential;
import com.azure.core.http.rest.PagedResponse;
import com.azure.storage.queue.QueueClient;
import com.azure.storage.queue.QueueServiceClient;
import com.azure.storage.queue.QueueServiceClientBuilder;
import com.azure.storage.queue.models.QueueItem;
import com.azure.storage.queue.models.QueuesSegmentOptions;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class QueuesTest {
    private final QueueServiceClient service = Server.queues();

    private List<String> names(String prefix) {
        return service.listQueues(new QueuesSegmentOptions().setPrefix(prefix), null, null)
            .stream().map(QueueItem::getName).toList();
    }

    @Test
    void createsListsAndDeletesQueues() {
        String prefix = Server.freshName("q");
        Stream.of("c", "b", "a").forEach(letter -> service.createQueue(prefix + letter));
        assertEquals(List.of(prefix + "a", prefix + "b", prefix + "c"), names(prefix));
        service.deleteQueue(prefix + "b");
        assertEquals(List.of(prefix + "a", prefix + "c"), names(prefix));
    }

    @Test
    void pagesThroughQueuesAndGoesOnFromAMarker() {
        String prefix = Server.freshName("q");
        for (int number = 0; number < 5; number++) {
            service.createQueue(prefix + number);
        }
        QueuesSegmentOptions options = new QueuesSegmentOptions().setPrefix(prefix).setMaxResultsPerPage(2);
        List<PagedResponse<QueueItem>> pages =
            service.listQueues(options, null, null).streamByPage().toList();
        assertEquals(List.of(2, 2, 1), pages.stream().map(page -> page.getValue().size()).toList());
        List<String> rest = service.listQueues(options, null, null)
            .streamByPage(pages.get(0).getContinuationToken())
            .flatMap(page -> page.getValue().stream()).map(QueueItem::getName).toList();
        assertEquals(List.of(prefix + 2, prefix + 3, prefix + 4), rest);
    }

    @Test
    void setsListsAndReplacesMetadata() {
        QueueClient queue = Server.freshQueue();
        Map<String, String> metadata = Map.of("colour", "blue", "b", "two words");
        queue.setMetadata(metadata);
        assertEquals(metadata, queue.getProperties().getMetadata());
        QueuesSegmentOptions options =
            new QueuesSegmentOptions().setPrefix(queue.getQueueName()).setIncludeMetadata(true);
        assertEquals(metadata,
            service.listQueues(options, null, null).stream().findFirst().orElseThrow().getMetadata());
        queue.setMetadata(Map.of());
        assertEquals(Map.of(), queue.getProperties().getMetadata());
    }

    @Test
    void refusesAQueueThatExistsWithOtherMetadata() {
        QueueClient queue = Server.freshQueue();
        queue.createWithResponse(null, null, null);
        Server.assertRefused(409, "QueueAlreadyExists",
            () -> queue.createWithResponse(Map.of("a", "1"), null, null));
    }

    @Test
    void tellsAQueueThatIsMissing() {
        QueueClient missing = service.getQueueClient(Server.freshName("q"));
        Server.assertRefused(404, "QueueNotFound", missing::delete);
        Server.assertRefused(404, "QueueNotFound", () -> missing.sendMessage("x"));
    }

    @Test
    void refusesIllegalNames() {
        Server.assertRefused(400, "OutOfRangeInput", () -> service.createQueue("ab"));
        Server.assertRefused(400, "InvalidResourceName", () -> service.createQueue("Upper"));
    }

    @Test
    void refusesAWrongKey() {
        QueueServiceClient stranger = new QueueServiceClientBuilder()
            .endpoint(Server.SETTINGS.get("QueueEndpoint"))
            .credential(new AzureNamedKeyCredential(Server.SETTINGS.get("AccountName"), "bm8="))
            .buildClient();
        Server.assertRefused(403, "AuthenticationFailed", stranger::getProperties);
    }
}
