import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.azure.core.credential.AccessToken;
import com.azure.core.credential.TokenCredential;
import com.azure.core.http.HttpClient;
import com.azure.core.http.netty.NettyAsyncHttpClientBuilder;
import com.azure.core.util.BinaryData;
import com.azure.data.tables.TableClient;
import com.azure.data.tables.TableServiceClient;
import com.azure.data.tables.TableServiceClientBuilder;
import com.azure.storage.blob.BlobClient;
import com.azure.storage.blob.BlobClientBuilder;
import com.azure.storage.blob.BlobServiceClient;
import com.azure.storage.blob.BlobServiceClientBuilder;
import com.azure.storage.blob.models.UserDelegationKey;
import com.azure.storage.blob.sas.BlobSasPermission;
import com.azure.storage.blob.sas.BlobServiceSasSignatureValues;
import com.azure.storage.queue.QueueClient;
import com.azure.storage.queue.QueueServiceClient;
import com.azure.storage.queue.QueueServiceClientBuilder;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.File;
import java.util.Map;
import javax.net.ssl.SSLException;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;

/** https with a certificate of the server's own, and bearer tokens. */
class HttpsTest {
    private static final String CONNECTION_STRING = System.getenv("TABULARIUM_TLS_CONNECTION_STRING");
    private static final String TOKEN = System.getenv("TABULARIUM_TOKEN");
    private static final Map<String, String> SETTINGS = Server.settingsOf(CONNECTION_STRING);

    /** Accepts the certificate of the server. */
    private static HttpClient trusting() throws SSLException {
        SslContext context = SslContextBuilder.forClient()
            .trustManager(new File(System.getenv("TABULARIUM_CA"))).build();
        return new NettyAsyncHttpClientBuilder(reactor.netty.http.client.HttpClient.create()
            .secure(spec -> spec.sslContext(context))).build();
    }

    /** What the credentials of the identity library are to a client. */
    private static TokenCredential bearer(String token) {
        return request -> Mono.just(new AccessToken(token, Server.inHours(1)));
    }

    private static BlobClient uploaded(BlobServiceClient blobs, String text) {
        BlobClient blob = blobs.createBlobContainer(Server.freshName("c")).getBlobClient("one");
        blob.upload(BinaryData.fromString(text));
        return blob;
    }

    private static BlobServiceClient blobsByToken(HttpClient client) {
        return new BlobServiceClientBuilder().endpoint(SETTINGS.get("BlobEndpoint"))
            .credential(bearer(TOKEN)).httpClient(client).buildClient();
    }

    private static void use(TableServiceClient tables, QueueServiceClient queues, BlobServiceClient blobs) {
        TableClient table = tables.createTable(Server.freshName("t"));
        table.createEntity(Server.entity("p", "r"));
        assertEquals(1, table.listEntities().stream().count());
        QueueClient queue = queues.createQueue(Server.freshName("q"));
        queue.sendMessage("text");
        assertEquals("text", queue.receiveMessage().getBody().toString());
        assertEquals("blob", uploaded(blobs, "blob").downloadContent().toString());
    }

    @Test
    void speaksHttpsWithTheCertificateOfTheServer() throws SSLException {
        HttpClient client = trusting();
        use(new TableServiceClientBuilder().connectionString(CONNECTION_STRING).httpClient(client).buildClient(),
            new QueueServiceClientBuilder().connectionString(CONNECTION_STRING).httpClient(client).buildClient(),
            new BlobServiceClientBuilder().connectionString(CONNECTION_STRING).httpClient(client).buildClient());
    }

    @Test
    void doesNotTrustTheServerWithoutItsCertificate() {
        TableServiceClient stranger = new TableServiceClientBuilder()
            .connectionString(CONNECTION_STRING).retryOptions(Server.NO_RETRIES).buildClient();
        assertThrows(RuntimeException.class, stranger::getProperties);
    }

    @Test
    void worksWithBearerTokens() throws SSLException {
        HttpClient client = trusting();
        use(new TableServiceClientBuilder().endpoint(SETTINGS.get("TableEndpoint"))
                .credential(bearer(TOKEN)).httpClient(client).buildClient(),
            new QueueServiceClientBuilder().endpoint(SETTINGS.get("QueueEndpoint"))
                .credential(bearer(TOKEN)).httpClient(client).buildClient(),
            blobsByToken(client));
    }

    @Test
    void readsABlobWithASignatureThatATokenDelegates() throws SSLException {
        HttpClient client = trusting();
        BlobServiceClient service = blobsByToken(client);
        BlobClient blob = uploaded(service, "delegated");
        UserDelegationKey key = service.getUserDelegationKey(Server.inHours(-1), Server.inHours(1));
        String query = blob.generateUserDelegationSas(new BlobServiceSasSignatureValues(
            Server.inHours(1), new BlobSasPermission().setReadPermission(true)), key);
        BlobClient reached = new BlobClientBuilder().endpoint(blob.getBlobUrl() + "?" + query)
            .httpClient(client).buildClient();
        assertEquals("delegated", reached.downloadContent().toString());
        Server.assertRefused(403, "AuthorizationPermissionMismatch", reached::delete);
    }

    @Test
    void refusesATokenThatIsNotSigned() throws SSLException {
        String[] parts = TOKEN.split("\\.");
        QueueServiceClient forger = new QueueServiceClientBuilder().endpoint(SETTINGS.get("QueueEndpoint"))
            .credential(bearer(parts[0] + "." + parts[1] + ".AAAA")).httpClient(trusting()).buildClient();
        Server.assertRefused(401, "InvalidAuthenticationInfo", () -> forger.createQueue(Server.freshName("q")));
    }
}
