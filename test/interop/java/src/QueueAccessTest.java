import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.azure.core.credential.AzureSasCredential;
import com.azure.storage.common.sas.AccountSasPermission;
import com.azure.storage.common.sas.AccountSasResourceType;
import com.azure.storage.common.sas.AccountSasService;
import com.azure.storage.common.sas.AccountSasSignatureValues;
import com.azure.storage.queue.QueueClient;
import com.azure.storage.queue.QueueClientBuilder;
import com.azure.storage.queue.QueueServiceClient;
import com.azure.storage.queue.QueueServiceClientBuilder;
import com.azure.storage.queue.models.QueueAccessPolicy;
import com.azure.storage.queue.models.QueueSignedIdentifier;
import com.azure.storage.queue.sas.QueueSasPermission;
import com.azure.storage.queue.sas.QueueServiceSasSignatureValues;
import java.time.OffsetDateTime;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class QueueAccessTest {
    private final QueueClient queue = Server.freshQueue();

    /** A client that knows a signature and no key. */
    private QueueClient guest(QueueServiceSasSignatureValues values) {
        return new QueueClientBuilder().endpoint(Server.SETTINGS.get("QueueEndpoint"))
            .queueName(queue.getQueueName())
            .credential(new AzureSasCredential(queue.generateSas(values))).buildClient();
    }

    private static QueueServiceSasSignatureValues allowed(String permissions) {
        return new QueueServiceSasSignatureValues(Server.inHours(1), QueueSasPermission.parse(permissions));
    }

    private static void assertRefused(String code, Executable call) {
        Server.assertRefused(403, code, call);
    }

    @Test
    void dividesTheWorkBySignatures() {
        QueueClient sender = guest(allowed("a"));
        QueueClient worker = guest(allowed("p"));
        sender.sendMessage("work");
        assertRefused("AuthorizationPermissionMismatch", sender::peekMessage);
        assertRefused("AuthorizationPermissionMismatch", sender::receiveMessage);
        assertRefused("AuthorizationPermissionMismatch", () -> worker.sendMessage("x"));
        var message = worker.receiveMessage();
        assertEquals("work", message.getBody().toString());
        worker.deleteMessage(message.getMessageId(), message.getPopReceipt());
    }

    @Test
    void refusesASignatureOutOfItsTime() {
        QueueSasPermission read = QueueSasPermission.parse("r");
        QueueClient expired = guest(new QueueServiceSasSignatureValues(Server.inHours(-1), read));
        QueueClient early = guest(
            new QueueServiceSasSignatureValues(Server.inHours(2), read).setStartTime(Server.inHours(1)));
        for (QueueClient guest : List.of(expired, early)) {
            assertRefused("AuthenticationFailed", guest::peekMessage);
        }
    }

    @Test
    void worksWithTheSignatureOfAnAccount() {
        String sas = Server.queues().generateAccountSas(new AccountSasSignatureValues(Server.inHours(1),
            AccountSasPermission.parse("rac"), AccountSasService.parse("q"),
            AccountSasResourceType.parse("co")));
        QueueServiceClient service = new QueueServiceClientBuilder()
            .endpoint(Server.SETTINGS.get("QueueEndpoint"))
            .credential(new AzureSasCredential(sas)).buildClient();
        QueueClient created = service.createQueue(Server.freshName("q"));
        created.sendMessage("text");
        assertEquals("text", created.peekMessage().getBody().toString());
        assertRefused("AuthorizationPermissionMismatch", created::delete);
        assertRefused("AuthorizationResourceTypeMismatch", service::getProperties);
    }

    private void setPolicy(OffsetDateTime start, OffsetDateTime expiry) {
        queue.setAccessPolicy(List.of(new QueueSignedIdentifier().setId("reader").setAccessPolicy(
            new QueueAccessPolicy().setPermissions("r").setStartsOn(start).setExpiresOn(expiry))));
    }

    @Test
    void setsAndGetsStoredPolicies() {
        OffsetDateTime start = OffsetDateTime.parse("2020-01-01T00:00:00Z");
        setPolicy(start, start.plusDays(7));
        List<QueueSignedIdentifier> found = queue.getAccessPolicy().stream().toList();
        assertEquals(1, found.size());
        assertEquals("reader", found.get(0).getId());
        assertEquals("r", found.get(0).getAccessPolicy().getPermissions());
        assertEquals(start, found.get(0).getAccessPolicy().getStartsOn());
        assertEquals(start.plusDays(7), found.get(0).getAccessPolicy().getExpiresOn());
        queue.setAccessPolicy(List.of());
        assertEquals(0, queue.getAccessPolicy().stream().count());
    }

    @Test
    void followsAStoredPolicyUntilItIsRevoked() {
        setPolicy(Server.inHours(-1), Server.inHours(1));
        QueueClient guest = guest(new QueueServiceSasSignatureValues("reader"));
        assertNull(guest.peekMessage());
        assertRefused("AuthorizationPermissionMismatch", () -> guest.sendMessage("x"));
        queue.setAccessPolicy(List.of());
        assertRefused("AuthenticationFailed", guest::peekMessage);
    }
}
