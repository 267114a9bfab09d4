import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.core.util.BinaryData;
import com.azure.storage.queue.QueueClient;
import com.azure.storage.queue.QueueClientBuilder;
import com.azure.storage.queue.QueueMessageEncoding;
import com.azure.storage.queue.models.QueueMessageItem;
import com.azure.storage.queue.models.SendMessageResult;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class MessagesTest {
    private final QueueClient queue = Server.freshQueue();

    private List<String> peekTexts() {
        return queue.peekMessages(32, null, null).stream().map(each -> each.getBody().toString()).toList();
    }

    private List<QueueMessageItem> take(int count, int seconds) {
        return queue.receiveMessages(count, Duration.ofSeconds(seconds), null, null).stream().toList();
    }

    private SendMessageResult send(String text, Duration hidden, Duration lifetime) {
        return queue.sendMessageWithResponse(text, hidden, lifetime, null, null).getValue();
    }

    @Test
    void tellsTheTimesOfAMessageThatWasSent() {
        SendMessageResult sent = queue.sendMessage("text");
        Duration age = Duration.between(sent.getInsertionTime(), OffsetDateTime.now()).abs();
        assertTrue(age.compareTo(Duration.ofMinutes(1)) < 0);
        assertEquals(sent.getInsertionTime().plusDays(7), sent.getExpirationTime());
        assertEquals(sent.getInsertionTime(), sent.getTimeNextVisible());
        queue.deleteMessage(sent.getMessageId(), sent.getPopReceipt());
        assertEquals(List.of(), peekTexts());
    }

    @Test
    void takesUpdatesAndDeletesAMessage() {
        queue.sendMessage("first");
        QueueMessageItem message = take(1, 60).get(0);
        assertEquals("first", message.getBody().toString());
        assertEquals(1, message.getDequeueCount());
        assertEquals(List.of(), peekTexts());
        String id = message.getMessageId();
        String receipt = queue.updateMessage(id, message.getPopReceipt(), "second", Duration.ZERO).getPopReceipt();
        assertEquals(List.of("second"), peekTexts());
        Server.assertRefused(404, "MessageNotFound", () -> queue.deleteMessage(id, message.getPopReceipt()));
        Server.assertRefused(404, "MessageNotFound",
            () -> queue.updateMessage(id, message.getPopReceipt(), "third", Duration.ZERO));
        queue.deleteMessage(id, receipt);
        assertNull(queue.receiveMessage());
    }

    @Test
    void refusesAReceiptThatIsNone() {
        SendMessageResult sent = queue.sendMessage("text");
        Server.assertRefused(400, "InvalidQueryParameterValue",
            () -> queue.deleteMessage(sent.getMessageId(), "wrong"));
    }

    @Test
    void peeksWithoutCounting() {
        queue.sendMessage("seen");
        for (int time = 0; time < 3; time++) {
            assertEquals(0, queue.peekMessage().getDequeueCount());
        }
    }

    @Test
    void givesMessagesInTheirOrderUpTo32AtOnceAndClears() {
        for (int number = 0; number < 40; number++) {
            queue.sendMessage(Integer.toString(number));
        }
        List<QueueMessageItem> found = new ArrayList<>(take(32, 3600));
        assertEquals(32, found.size());
        found.addAll(take(32, 3600));
        assertEquals(IntStream.range(0, 40).mapToObj(Integer::toString).toList(),
            found.stream().map(each -> each.getBody().toString()).toList());
        assertEquals(40, queue.getProperties().getApproximateMessagesCount());
        queue.clearMessages();
        assertEquals(0, queue.getProperties().getApproximateMessagesCount());
    }

    @Test
    void showsLateMessagesAndForgetsThoseThatExpire() throws InterruptedException {
        send("late", Duration.ofSeconds(2), null);
        send("short", null, Duration.ofSeconds(1));
        assertEquals(9999, send("ever", null, Duration.ofSeconds(-1)).getExpirationTime().getYear());
        assertEquals(List.of("short", "ever"), peekTexts());
        Server.eventually("the late message did not appear, or the short one stayed",
            () -> peekTexts().equals(List.of("ever", "late")));
    }

    @Test
    void givesAMessageAgainAfterItsTimeout() throws InterruptedException {
        queue.sendMessage("again");
        QueueMessageItem first = take(1, 1).get(0);
        List<QueueMessageItem> second = new ArrayList<>();
        Server.eventually("the message did not come again", () -> second.addAll(take(1, 60)));
        assertEquals(first.getMessageId(), second.get(0).getMessageId());
        assertEquals(2, second.get(0).getDequeueCount());
        Server.assertRefused(404, "MessageNotFound",
            () -> queue.deleteMessage(first.getMessageId(), first.getPopReceipt()));
    }

    @Test
    void keepsTexts() {
        for (String text : List.of(" ", "  x  ", "<a b='c'>&amp;</a>", "]]>", "příliš 😀", "a\tb\nc",
            "100% + 1", "x".repeat(65536), "😀".repeat(16384))) {
            queue.sendMessage(text);
            QueueMessageItem message = take(1, 60).get(0);
            assertEquals(text, message.getBody().toString());
            queue.deleteMessage(message.getMessageId(), message.getPopReceipt());
        }
    }

    @Test
    void encodesAndDecodesBase64() {
        QueueClient encoding = new QueueClientBuilder().connectionString(Server.CONNECTION_STRING)
            .queueName(queue.getQueueName()).messageEncoding(QueueMessageEncoding.BASE64).buildClient();
        encoding.sendMessage("příliš\r\n😀");
        assertEquals(List.of("cMWZw61sacWhDQrwn5iA"), peekTexts());
        QueueMessageItem message = encoding.receiveMessage();
        assertNotNull(message);
        assertEquals("příliš\r\n😀", message.getBody().toString());
        encoding.deleteMessage(message.getMessageId(), message.getPopReceipt());
        byte[] every = new byte[256];
        for (int index = 0; index < every.length; index++) {
            every[index] = (byte) index;
        }
        encoding.sendMessage(BinaryData.fromBytes(every));
        assertArrayEquals(every, encoding.receiveMessage().getBody().toBytes());
    }

    @Test
    void refusesWhatIsBeyondTheLimits() {
        Server.assertRefused(413, "RequestBodyTooLarge", () -> queue.sendMessage("x".repeat(65537)));
        Server.assertRefused(400, "OutOfRangeQueryParameterValue",
            () -> queue.peekMessages(33, null, null).stream().count());
        Server.assertRefused(400, "OutOfRangeQueryParameterValue", () -> take(1, 604801));
    }
}
