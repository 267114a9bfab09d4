import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.storage.queue.QueueClient;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import org.apache.camel.CamelContext;
import org.apache.camel.ProducerTemplate;
import org.apache.camel.builder.RouteBuilder;
import org.apache.camel.component.azure.storage.queue.QueueConstants;
import org.apache.camel.impl.DefaultCamelContext;
import org.junit.jupiter.api.Test;

/** Routes of Apache Camel that begin and end at queues. */
class CamelTest {
    private static final String QUEUE = "azure-storage-queue://%s/%s?serviceClient=#queues";
    private static final String CONSUMED = QUEUE + "&maxMessages=8&delay=100&visibilityTimeout=PT30S";

    private static String at(String pattern, QueueClient queue) {
        return String.format(pattern, Server.SETTINGS.get("AccountName"), queue.getQueueName());
    }

    private static CamelContext context() {
        CamelContext context = new DefaultCamelContext();
        context.getRegistry().bind("queues", Server.queues());
        return context;
    }

    @Test
    void carriesEveryMessageFromOneQueueToAnother() throws Exception {
        QueueClient source = Server.freshQueue();
        QueueClient target = Server.freshQueue();
        List<String> texts = IntStream.range(0, 40).mapToObj(number -> "text <" + number + ">").toList();
        try (CamelContext context = context()) {
            context.addRoutes(new RouteBuilder() {
                @Override
                public void configure() {
                    from(at(CONSUMED, source)).convertBodyTo(String.class).to(at(QUEUE, target));
                }
            });
            texts.forEach(source::sendMessage);
            context.start();
            Server.eventually("not every message was carried", () -> count(target) == texts.size());
            Server.eventually("messages were left", () -> count(source) == 0);
        }
        List<String> carried = new CopyOnWriteArrayList<>();
        while (count(target) > 0) {
            target.receiveMessages(32).forEach(message -> {
                carried.add(message.getBody().toString());
                target.deleteMessage(message.getMessageId(), message.getPopReceipt());
            });
        }
        assertEquals(texts.stream().sorted().toList(), carried.stream().sorted().toList());
    }

    @Test
    void leavesAMessageWhoseRouteFails() throws Exception {
        QueueClient source = Server.freshQueue();
        List<Long> counts = new CopyOnWriteArrayList<>();
        try (CamelContext context = context()) {
            context.addRoutes(new RouteBuilder() {
                @Override
                public void configure() {
                    errorHandler(noErrorHandler());
                    from(at(QUEUE + "&delay=100&visibilityTimeout=PT1S", source)).process(exchange -> {
                        Object count = exchange.getIn().getHeader(QueueConstants.DEQUEUE_COUNT);
                        counts.add((Long) count);
                        if (counts.size() < 3) {
                            throw new IllegalStateException("not yet");
                        }
                    });
                }
            });
            source.sendMessage("retried");
            context.start();
            Server.eventually("the message was not deleted in the end", () -> count(source) == 0);
        }
        assertEquals(List.of(1L, 2L, 3L), counts);
    }

    @Test
    void createsAndListsQueuesAndSendsWithADelay() throws Exception {
        QueueClient queue = Server.queues().getQueueClient(Server.freshName("q"));
        try (CamelContext context = context()) {
            context.start();
            ProducerTemplate producer = context.createProducerTemplate();
            producer.sendBody(at(QUEUE + "&operation=createQueue", queue), "");
            Map<String, Object> delay = Map.of(QueueConstants.VISIBILITY_TIMEOUT, java.time.Duration.ofHours(1));
            producer.sendBodyAndHeaders(at(QUEUE + "&operation=sendMessage", queue), "later", delay);
            assertEquals(1, count(queue));
            assertTrue(queue.receiveMessages(1).stream().findAny().isEmpty());
            producer.sendBody(at(QUEUE + "&operation=deleteQueue", queue), "");
        }
        assertTrue(Server.queues().listQueues().stream().noneMatch(each -> each.getName().equals(queue.getQueueName())));
    }

    private static int count(QueueClient queue) {
        return queue.getProperties().getApproximateMessagesCount();
    }
}
