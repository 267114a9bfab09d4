import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.core.credential.AzureNamedKeyCredential;
import com.azure.data.tables.TableServiceClient;
import com.azure.data.tables.TableServiceClientBuilder;
import com.azure.data.tables.models.TableServiceCorsRule;
import com.azure.data.tables.models.TableServiceLogging;
import com.azure.data.tables.models.TableServiceMetrics;
import com.azure.data.tables.models.TableServiceProperties;
import com.azure.data.tables.models.TableServiceRetentionPolicy;
import com.azure.storage.queue.QueueServiceClient;
import com.azure.storage.queue.models.QueueAnalyticsLogging;
import com.azure.storage.queue.models.QueueCorsRule;
import com.azure.storage.queue.models.QueueMetrics;
import com.azure.storage.queue.models.QueueRetentionPolicy;
import com.azure.storage.queue.models.QueueServiceProperties;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Properties belong to a whole service: each test sets those that it looks at. */
class ServicePropertiesTest {
    private final TableServiceClient tables = Server.tables();
    private final QueueServiceClient queues = Server.queues();

    private static TableServiceCorsRule tableRule(String origins, String exposed, int age) {
        return new TableServiceCorsRule().setAllowedOrigins(origins).setAllowedMethods("GET,PUT")
            .setAllowedHeaders("x-ms-*").setExposedHeaders(exposed).setMaxAgeInSeconds(age);
    }

    private static QueueCorsRule queueRule(String origins, String exposed, int age) {
        return new QueueCorsRule().setAllowedOrigins(origins).setAllowedMethods("GET,PUT")
            .setAllowedHeaders("x-ms-*").setExposedHeaders(exposed).setMaxAgeInSeconds(age);
    }

    @Test
    void setsAndGetsPropertiesOfTables() {
        TableServiceRetentionPolicy retention =
            new TableServiceRetentionPolicy().setEnabled(true).setDaysToRetain(5);
        TableServiceMetrics metrics = new TableServiceMetrics().setVersion("1.0").setEnabled(true)
            .setIncludeApis(true).setRetentionPolicy(retention);
        tables.setProperties(new TableServiceProperties()
            .setLogging(new TableServiceLogging().setAnalyticsVersion("1.0").setReadLogged(true)
                .setWriteLogged(true).setDeleteLogged(false).setRetentionPolicy(retention))
            .setHourMetrics(metrics).setMinuteMetrics(metrics)
            .setCorsRules(List.of(tableRule("http://a.example,http://b.example", "x-ms-meta-a", 500))));
        TableServiceProperties found = tables.getProperties();
        assertTrue(found.getLogging().isReadLogged());
        assertFalse(found.getLogging().isDeleteLogged());
        assertEquals(5, found.getLogging().getRetentionPolicy().getDaysToRetain());
        assertTrue(found.getMinuteMetrics().isIncludeApis());
        assertEquals(1, found.getCorsRules().size());
        TableServiceCorsRule rule = found.getCorsRules().get(0);
        assertEquals("http://a.example,http://b.example", rule.getAllowedOrigins());
        assertEquals("GET,PUT", rule.getAllowedMethods());
        assertEquals("x-ms-*", rule.getAllowedHeaders());
        assertEquals("x-ms-meta-a", rule.getExposedHeaders());
        assertEquals(500, rule.getMaxAgeInSeconds());
    }

    @Test
    void setsAndGetsPropertiesOfQueues() {
        QueueRetentionPolicy retention = new QueueRetentionPolicy().setEnabled(true).setDays(5);
        QueueMetrics metrics = new QueueMetrics().setVersion("1.0").setEnabled(true)
            .setIncludeApis(true).setRetentionPolicy(retention);
        queues.setProperties(new QueueServiceProperties()
            .setAnalyticsLogging(new QueueAnalyticsLogging().setVersion("1.0").setRead(true)
                .setWrite(true).setDelete(false).setRetentionPolicy(retention))
            .setHourMetrics(metrics).setMinuteMetrics(metrics)
            .setCors(List.of(queueRule("http://a.example,http://b.example", "x-ms-meta-a", 500))));
        QueueServiceProperties found = queues.getProperties();
        assertTrue(found.getAnalyticsLogging().isRead());
        assertFalse(found.getAnalyticsLogging().isDelete());
        assertEquals(5, found.getAnalyticsLogging().getRetentionPolicy().getDays());
        assertTrue(found.getMinuteMetrics().isIncludeApis());
        assertEquals(1, found.getCors().size());
        QueueCorsRule rule = found.getCors().get(0);
        assertEquals("http://a.example,http://b.example", rule.getAllowedOrigins());
        assertEquals("GET,PUT", rule.getAllowedMethods());
        assertEquals("x-ms-*", rule.getAllowedHeaders());
        assertEquals("x-ms-meta-a", rule.getExposedHeaders());
        assertEquals(500, rule.getMaxAgeInSeconds());
    }

    /** What a browser would do without any client. */
    private static HttpResponse<Void> ask(String method, String url, Map<String, String> headers)
        throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url))
            .method(method, HttpRequest.BodyPublishers.noBody());
        headers.forEach(request::header);
        return HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.discarding());
    }

    private static HttpResponse<Void> preflight(String endpoint, String origin, String method, String header)
        throws IOException, InterruptedException {
        return ask("OPTIONS", endpoint + "/anything", Map.of("Origin", origin,
            "Access-Control-Request-Method", method, "Access-Control-Request-Headers", header));
    }

    private static String header(HttpResponse<Void> answer, String name) {
        return answer.headers().firstValue(name).orElse(null);
    }

    /** Asks for what a rule of http://a.example allows, and for what it does not. */
    private static void assertFollowsTheRule(String endpoint) throws IOException, InterruptedException {
        HttpResponse<Void> answer = preflight(endpoint, "http://a.example", "PUT", "x-ms-date");
        assertEquals(200, answer.statusCode());
        assertEquals("http://a.example", header(answer, "Access-Control-Allow-Origin"));
        assertEquals("PUT", header(answer, "Access-Control-Allow-Methods"));
        assertEquals("x-ms-date", header(answer, "Access-Control-Allow-Headers"));
        assertEquals("60", header(answer, "Access-Control-Max-Age"));
        assertEquals(403, preflight(endpoint, "http://b.example", "PUT", "x-ms-date").statusCode());
        assertEquals(403, preflight(endpoint, "http://a.example", "DELETE", "x-ms-date").statusCode());
        assertEquals(403, preflight(endpoint, "http://a.example", "PUT", "content-type").statusCode());
        // CORS gives no rights: a request without a signature is refused, readably.
        HttpResponse<Void> refusal = ask("GET", endpoint + "/anything", Map.of("Origin", "http://a.example"));
        assertTrue(refusal.statusCode() >= 401);
        assertEquals("http://a.example", header(refusal, "Access-Control-Allow-Origin"));
    }

    @Test
    void answersPreflightsOfTablesByTheRules() throws Exception {
        String endpoint = Server.SETTINGS.get("TableEndpoint");
        tables.setProperties(
            new TableServiceProperties().setCorsRules(List.of(tableRule("http://a.example", "x-ms-*", 60))));
        assertFollowsTheRule(endpoint);
    }

    @Test
    void answersPreflightsOfQueuesByTheRules() throws Exception {
        String endpoint = Server.SETTINGS.get("QueueEndpoint");
        QueueServiceProperties properties = queues.getProperties();
        queues.setProperties(properties.setCors(List.of(queueRule("http://a.example", "x-ms-*", 60))));
        assertFollowsTheRule(endpoint);
        queues.setProperties(properties.setCors(List.of()));
        HttpResponse<Void> answer = preflight(endpoint, "http://a.example", "PUT", "x-ms-date");
        assertEquals(403, answer.statusCode());
        assertNull(header(answer, "Access-Control-Allow-Origin"));
    }

    @Test
    void getsStatisticsOfTablesFromTheSecondaryEndpoint() {
        TableServiceClient secondary = new TableServiceClientBuilder()
            .endpoint(Server.SETTINGS.get("TableEndpoint") + "-secondary").credential(
                new AzureNamedKeyCredential(Server.SETTINGS.get("AccountName"), Server.SETTINGS.get("AccountKey")))
            .buildClient();
        assertEquals("live", secondary.getStatistics().getGeoReplication().getStatus().toString());
    }
}
