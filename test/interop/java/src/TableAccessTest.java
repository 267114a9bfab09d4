import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.azure.core.credential.AzureSasCredential;
import com.azure.data.tables.TableClient;
import com.azure.data.tables.TableClientBuilder;
import com.azure.data.tables.TableServiceClientBuilder;
import com.azure.data.tables.models.TableAccessPolicy;
import com.azure.data.tables.models.TableEntity;
import com.azure.data.tables.models.TableSignedIdentifier;
import com.azure.data.tables.models.TableTransactionActionType;
import com.azure.data.tables.sas.TableAccountSasPermission;
import com.azure.data.tables.sas.TableAccountSasResourceType;
import com.azure.data.tables.sas.TableAccountSasService;
import com.azure.data.tables.sas.TableAccountSasSignatureValues;
import com.azure.data.tables.sas.TableSasPermission;
import com.azure.data.tables.sas.TableSasProtocol;
import com.azure.data.tables.sas.TableSasSignatureValues;
import java.time.OffsetDateTime;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Signatures and stored policies of a table of the partitions a to d, each with the rows 1 to 3. */
class TableAccessTest {
    private final TableClient table = Server.freshTable();

    @BeforeEach
    void fill() {
        for (String partition : List.of("a", "b", "c", "d")) {
            table.submitTransaction(List.of("1", "2", "3").stream()
                .map(row -> Server.action(TableTransactionActionType.CREATE, Server.entity(partition, row)))
                .toList());
        }
    }

    /** A client that knows a signature and no key. */
    private TableClient guest(TableSasSignatureValues values) {
        if (values.getProtocol() == null) {
            values.setProtocol(TableSasProtocol.HTTPS_HTTP);
        }
        return new TableClientBuilder().endpoint(Server.SETTINGS.get("TableEndpoint"))
            .tableName(table.getTableName())
            .credential(new AzureSasCredential(table.generateSas(values))).buildClient();
    }

    private static TableSasSignatureValues allowed(String permissions) {
        return new TableSasSignatureValues(Server.inHours(1), TableSasPermission.parse(permissions));
    }

    private static void assertRefused(String code, org.junit.jupiter.api.function.Executable call) {
        Server.assertRefused(403, code, call);
    }

    @Test
    void showsOnlyTheRowsInTheRangeOfTheSignature() {
        TableClient guest = guest(allowed("raud").setStartPartitionKey("b").setStartRowKey("2")
            .setEndPartitionKey("c").setEndRowKey("2"));
        List<String> found = guest.listEntities().stream()
            .map(each -> each.getPartitionKey() + each.getRowKey()).toList();
        assertEquals(List.of("b2", "b3", "c1", "c2"), found);
        guest.upsertEntity(Server.entity("c", "11"));
        TableEntity outside = Server.entity("d", "1");
        assertRefused("AuthorizationFailure", () -> guest.createEntity(outside));
        assertRefused("AuthorizationFailure", () -> guest.upsertEntity(outside));
        assertRefused("AuthorizationFailure", () -> guest.updateEntity(outside));
        assertRefused("AuthorizationFailure", () -> guest.deleteEntity("d", "1"));
        Server.assertRefused(404, "ResourceNotFound", () -> guest.getEntity("a", "1"));
    }

    @Test
    void allowsNoMoreThanTheSignatureSays() {
        TableClient reader = guest(allowed("r"));
        assertEquals(12, reader.listEntities().stream().count());
        assertRefused("AuthorizationPermissionMismatch", () -> reader.createEntity(Server.entity("a", "x")));
        assertRefused("AuthorizationPermissionMismatch", () -> reader.updateEntity(Server.entity("a", "1")));
        assertRefused("AuthorizationPermissionMismatch", () -> reader.deleteEntity("a", "1"));
        TableClient writer = guest(allowed("a"));
        writer.createEntity(Server.entity("a", "new"));
        assertRefused("AuthorizationPermissionMismatch", () -> writer.getEntity("a", "new"));
    }

    @Test
    void refusesASignatureOutOfItsTime() {
        TableSasPermission read = TableSasPermission.parse("r");
        TableClient expired = guest(new TableSasSignatureValues(Server.inHours(-1), read));
        TableClient early =
            guest(new TableSasSignatureValues(Server.inHours(2), read).setStartTime(Server.inHours(1)));
        for (TableClient guest : List.of(expired, early)) {
            assertRefused("AuthenticationFailed", () -> guest.listEntities().stream().count());
        }
    }

    @Test
    void refusesASignatureForHttpsOverHttp() {
        TableClient guest = guest(allowed("r").setProtocol(TableSasProtocol.HTTPS_ONLY));
        assertRefused("AuthorizationProtocolMismatch", () -> guest.listEntities().stream().count());
    }

    private TableClient accountGuest(String permissions) {
        String sas = Server.tables().generateAccountSas(new TableAccountSasSignatureValues(Server.inHours(1),
            TableAccountSasPermission.parse(permissions), TableAccountSasService.parse("t"),
            TableAccountSasResourceType.parse("so")).setProtocol(TableSasProtocol.HTTPS_HTTP));
        return new TableServiceClientBuilder().endpoint(Server.SETTINGS.get("TableEndpoint"))
            .credential(new AzureSasCredential(sas)).buildClient().getTableClient(table.getTableName());
    }

    @Test
    void worksWithTheSignatureOfAnAccount() {
        TableClient writer = accountGuest("rwa");
        TableClient reader = accountGuest("r");
        writer.createEntity(Server.entity("a", "new"));
        assertEquals("new", reader.getEntity("a", "new").getRowKey());
        assertRefused("AuthorizationPermissionMismatch", () -> reader.createEntity(Server.entity("a", "x")));
        assertRefused("AuthorizationResourceTypeMismatch", writer::createTable);
    }

    private void setPolicy(OffsetDateTime start, OffsetDateTime expiry) {
        table.setAccessPolicies(List.of(new TableSignedIdentifier("reader").setAccessPolicy(
            new TableAccessPolicy().setPermissions("r").setStartsOn(start).setExpiresOn(expiry))));
    }

    @Test
    void setsAndGetsStoredPolicies() {
        OffsetDateTime start = OffsetDateTime.parse("2020-01-01T00:00:00Z");
        setPolicy(start, start.plusDays(7));
        List<TableSignedIdentifier> found = table.getAccessPolicies().getIdentifiers();
        assertEquals(1, found.size());
        assertEquals("reader", found.get(0).getId());
        assertEquals("r", found.get(0).getAccessPolicy().getPermissions());
        assertEquals(start, found.get(0).getAccessPolicy().getStartsOn());
        assertEquals(start.plusDays(7), found.get(0).getAccessPolicy().getExpiresOn());
        table.setAccessPolicies(List.of());
        // This client gives null for none.
        assertNull(table.getAccessPolicies().getIdentifiers());
    }

    @Test
    void followsAStoredPolicyUntilItIsRevoked() {
        setPolicy(Server.inHours(-1), Server.inHours(1));
        TableClient guest = guest(new TableSasSignatureValues("reader"));
        assertEquals(12, guest.listEntities().stream().count());
        assertRefused("AuthorizationPermissionMismatch", () -> guest.deleteEntity("a", "1"));
        table.setAccessPolicies(List.of());
        assertRefused("AuthenticationFailed", () -> guest.listEntities().stream().count());
    }
}
