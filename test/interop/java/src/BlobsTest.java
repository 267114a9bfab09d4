import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.core.util.BinaryData;
import com.azure.storage.blob.BlobClient;
import com.azure.storage.blob.BlobClientBuilder;
import com.azure.storage.blob.BlobContainerClient;
import com.azure.storage.blob.BlobServiceClient;
import com.azure.storage.blob.BlobServiceClientBuilder;
import com.azure.storage.blob.models.BlobHttpHeaders;
import com.azure.storage.blob.models.BlobItem;
import com.azure.storage.blob.models.BlobRange;
import com.azure.storage.blob.models.BlobRequestConditions;
import com.azure.storage.blob.models.CopyStatusType;
import com.azure.storage.blob.models.DownloadRetryOptions;
import com.azure.storage.blob.models.ListBlobsOptions;
import com.azure.storage.blob.models.PageRange;
import com.azure.storage.blob.models.ParallelTransferOptions;
import com.azure.storage.blob.options.BlobParallelUploadOptions;
import com.azure.storage.blob.sas.BlobSasPermission;
import com.azure.storage.blob.sas.BlobServiceSasSignatureValues;
import com.azure.storage.blob.specialized.AppendBlobClient;
import com.azure.storage.blob.specialized.BlobLeaseClient;
import com.azure.storage.blob.specialized.BlobLeaseClientBuilder;
import com.azure.storage.blob.specialized.BlockBlobClient;
import com.azure.storage.blob.specialized.PageBlobClient;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BlobsTest {
    private final BlobServiceClient service =
        new BlobServiceClientBuilder().connectionString(Server.CONNECTION_STRING).buildClient();

    private BlobContainerClient freshContainer() {
        return service.createBlobContainer(Server.freshName("c"));
    }

    private static BlobClient uploaded(BlobContainerClient in, String name, String text) {
        BlobClient blob = in.getBlobClient(name);
        blob.upload(BinaryData.fromString(text));
        return blob;
    }

    private static String text(BlobClient blob) {
        return blob.downloadContent().toString();
    }

    private static List<String> names(BlobContainerClient in, String prefix) {
        ListBlobsOptions options = new ListBlobsOptions().setPrefix(prefix).setMaxResultsPerPage(2);
        return in.listBlobs(options, null).stream().map(BlobItem::getName).toList();
    }

    private static ByteArrayInputStream stream(byte[] bytes) {
        return new ByteArrayInputStream(bytes);
    }

    @Test
    void makesAndDeletesContainers() {
        BlobContainerClient made = freshContainer();
        Server.assertRefused(409, "ContainerAlreadyExists", made::create);
        made.delete();
        assertFalse(made.exists());
        Server.assertRefused(404, "ContainerNotFound", made::getProperties);
    }

    @Test
    void keepsContentHeadersAndMetadata() {
        BlobContainerClient in = freshContainer();
        BlobClient blob = in.getBlobClient("kůň/🐎 a+b");
        blob.uploadWithResponse(new BlobParallelUploadOptions(BinaryData.fromString("neigh"))
            .setHeaders(new BlobHttpHeaders().setContentType("text/plain"))
            .setMetadata(Map.of("sound", "loud")).setTags(Map.of("kind", "horse")), null, null);
        assertEquals("neigh", text(blob));
        assertEquals("text/plain", blob.getProperties().getContentType());
        assertEquals(Map.of("sound", "loud"), blob.getProperties().getMetadata());
        assertEquals(Map.of("kind", "horse"), blob.getTags());
        assertEquals(List.of("kůň/🐎 a+b"), names(in, "kůň/"));
        blob.delete();
        Server.assertRefused(404, "BlobNotFound", blob::getProperties);
    }

    @Test
    void listsByPagesAndFolders() {
        BlobContainerClient in = freshContainer();
        for (String name : List.of("a/1", "a/2", "a/3", "b/1", "c")) {
            uploaded(in, name, name);
        }
        assertEquals(List.of("a/1", "a/2", "a/3"), names(in, "a/"));
        List<String> top = in.listBlobsByHierarchy("").stream().map(BlobItem::getName).sorted().toList();
        assertEquals(List.of("a/", "b/", "c"), top);
    }

    /** A file of random bytes; a long run asks for 1,024 MiB. */
    private static Path largeFile(Path folder) throws IOException {
        String asked = System.getenv().getOrDefault("TABULARIUM_INTEROP_BLOB_MIB", "24");
        Path file = folder.resolve("sent");
        Random random = new Random(7);
        byte[] mebibyte = new byte[1024 * 1024];
        try (OutputStream out = Files.newOutputStream(file)) {
            for (int written = 0; written < Integer.parseInt(asked); written += 1) {
                random.nextBytes(mebibyte);
                out.write(mebibyte);
            }
            out.write(mebibyte, 0, 7);
        }
        return file;
    }

    @Test
    void sendsALargeFileInBlocksOfParallelWorkersAndReadsRanges(@TempDir Path folder)
        throws IOException {
        Path sent = largeFile(folder);
        Path received = folder.resolve("received");
        BlobClient blob = freshContainer().getBlobClient("large");
        ParallelTransferOptions blocks = new ParallelTransferOptions()
            .setBlockSizeLong(1024L * 1024).setMaxSingleUploadSizeLong(1024L * 1024).setMaxConcurrency(4);
        blob.uploadFromFile(sent.toString(), blocks, null, null, null, null, null);
        blob.downloadToFileWithResponse(received.toString(), null, blocks, null, null, false, null, null);
        assertEquals(-1, Files.mismatch(sent, received));
        ByteArrayOutputStream part = new ByteArrayOutputStream();
        blob.downloadStreamWithResponse(part, new BlobRange(1000, 500L), new DownloadRetryOptions(),
            null, true, null, null);
        try (InputStream in = Files.newInputStream(sent)) {
            in.skipNBytes(1000);
            assertArrayEquals(in.readNBytes(500), part.toByteArray());
        }
    }

    @Test
    void commitsStagedBlocks() {
        BlockBlobClient blob = freshContainer().getBlobClient("blocks").getBlockBlobClient();
        List<String> ids = List.of("1", "2").stream()
            .map(id -> Base64.getEncoder().encodeToString(id.getBytes())).toList();
        blob.stageBlock(ids.get(0), BinaryData.fromString("first "));
        blob.stageBlock(ids.get(1), BinaryData.fromString("second"));
        blob.commitBlockList(ids);
        assertEquals("first second", blob.downloadContent().toString());
    }

    @Test
    void writesUnderConditionsAndLeases() {
        BlobClient blob = uploaded(freshContainer(), "held", "first");
        Server.assertRefused(409, "BlobAlreadyExists", () -> blob.upload(BinaryData.fromString("x")));
        String seen = blob.getProperties().getETag();
        blob.upload(BinaryData.fromString("second"), true);
        BlobRequestConditions stale = new BlobRequestConditions().setIfMatch(seen);
        Server.assertRefused(412, "ConditionNotMet", () -> blob.uploadWithResponse(
            new BlobParallelUploadOptions(BinaryData.fromString("x")).setRequestConditions(stale),
            null, null));
        BlobLeaseClient lease = new BlobLeaseClientBuilder().blobClient(blob).buildClient();
        lease.acquireLease(15);
        Server.assertRefused(412, "LeaseIdMissing", blob::delete);
        lease.releaseLease();
        blob.delete();
    }

    @Test
    void keepsSnapshotsAndCopies() {
        BlobContainerClient in = freshContainer();
        BlobClient blob = uploaded(in, "seen", "before");
        BlobClient taken = new BlobClientBuilder().connectionString(Server.CONNECTION_STRING)
            .containerName(in.getBlobContainerName()).blobName("seen")
            .snapshot(blob.createSnapshot().getSnapshotId()).buildClient();
        blob.upload(BinaryData.fromString("after"), true);
        assertEquals("before", text(taken));
        BlobClient copy = in.getBlobClient("copy");
        CopyStatusType status = copy.beginCopy(blob.getBlobUrl(), Duration.ofMillis(50))
            .waitForCompletion().getValue().getCopyStatus();
        assertEquals(CopyStatusType.SUCCESS, status);
        assertEquals("after", text(copy));
    }

    @Test
    void appendsAndWritesPages() {
        BlobContainerClient in = freshContainer();
        AppendBlobClient log = in.getBlobClient("log").getAppendBlobClient();
        log.create();
        for (String line : List.of("one\n", "two\n")) {
            log.appendBlock(stream(line.getBytes()), line.length());
        }
        assertEquals("one\ntwo\n", log.downloadContent().toString());
        PageBlobClient disk = in.getBlobClient("disk").getPageBlobClient();
        disk.create(2048);
        disk.uploadPages(new PageRange().setStart(512).setEnd(1023), stream(new byte[512]));
        assertEquals(512, disk.listPageRanges(new BlobRange(0)).stream()
            .findFirst().orElseThrow().getRange().getOffset());
    }

    @Test
    void readsWithASignatureAlone() {
        BlobClient blob = uploaded(freshContainer(), "one", "signed");
        String query = blob.generateSas(new BlobServiceSasSignatureValues(
            Server.inHours(1), new BlobSasPermission().setReadPermission(true)));
        BlobClient reached =
            new BlobClientBuilder().endpoint(blob.getBlobUrl() + "?" + query).buildClient();
        assertEquals("signed", text(reached));
        Server.assertRefused(403, "AuthorizationPermissionMismatch", reached::delete);
        assertTrue(blob.exists());
    }
}
