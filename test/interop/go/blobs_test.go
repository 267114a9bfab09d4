package interop

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
)

const mib = 1 << 20

// largeSize is the length of a large blob; a long run asks for 1,024 MiB.
func largeSize(t *testing.T) int {
	t.Helper()
	if asked := os.Getenv("TABULARIUM_INTEROP_BLOB_MIB"); asked != "" {
		return must(strconv.Atoi(asked))(t) * mib
	}
	return 24 * mib
}

func blobService(t *testing.T) *service.Client {
	t.Helper()
	return must(service.NewClientFromConnectionString(connectionString, nil))(t)
}

// freshContainer makes a container of the test's own.
func freshContainer(t *testing.T) (*container.Client, string) {
	t.Helper()
	name := freshName("c")
	made := blobService(t).NewContainerClient(name)
	must(made.Create(ctx, nil))(t)
	t.Cleanup(func() { _, _ = made.Delete(ctx, nil) })
	return made, name
}

func body(text string) io.ReadSeekCloser {
	return streaming.NopCloser(bytes.NewReader([]byte(text)))
}

func upload(t *testing.T, in *container.Client, name, text string) *blockblob.Client {
	t.Helper()
	made := in.NewBlockBlobClient(name)
	must(made.Upload(ctx, body(text), nil))(t)
	return made
}

// content reads a whole blob, or what the options ask of it.
func content(t *testing.T, from *blob.Client, options *blob.DownloadStreamOptions) string {
	t.Helper()
	answer := must(from.DownloadStream(ctx, options))(t)
	defer func() { _ = answer.Body.Close() }()
	return string(must(io.ReadAll(answer.Body))(t))
}

func blobNames(t *testing.T, in *container.Client, options *container.ListBlobsFlatOptions) []string {
	t.Helper()
	names := []string{}
	for _, page := range pagesOf(t, in.NewListBlobsFlatPager(options)) {
		for _, item := range page.Segment.BlobItems {
			names = append(names, *item.Name)
		}
	}
	return names
}

func TestContainerIsMadeListedAndDeleted(t *testing.T) {
	made, name := freshContainer(t)
	again, err := made.Create(ctx, nil)
	refused(t, again, err, 409, "ContainerAlreadyExists")
	options := &service.ListContainersOptions{Prefix: &name}
	pages := pagesOf(t, blobService(t).NewListContainersPager(options))
	equal(t, *pages[0].ContainerItems[0].Name, name)
	must(made.Delete(ctx, nil))(t)
	gone, err := made.GetProperties(ctx, nil)
	refused(t, gone, err, 404, "ContainerNotFound")
}

func TestBlobKeepsItsContentAndProperties(t *testing.T) {
	in, _ := freshContainer(t)
	made := in.NewBlockBlobClient("kůň/🐎 a+b")
	must(made.Upload(ctx, body("neigh"), &blockblob.UploadOptions{
		HTTPHeaders: &blob.HTTPHeaders{BlobContentType: to.Ptr("text/plain")},
		Metadata:    map[string]*string{"Sound": to.Ptr("loud")},
	}))(t)
	equal(t, content(t, made.BlobClient(), nil), "neigh")
	found := must(made.GetProperties(ctx, nil))(t)
	equal(t, *found.ContentType, "text/plain")
	equal(t, *found.Metadata["Sound"], "loud")
	equal(t, blobNames(t, in, nil), []string{"kůň/🐎 a+b"})
	must(made.Delete(ctx, nil))(t)
	gone, err := made.GetProperties(ctx, nil)
	refused(t, gone, err, 404, "BlobNotFound")
}

func TestBlobsAreListedByPagesPrefixesAndFolders(t *testing.T) {
	in, _ := freshContainer(t)
	for _, name := range []string{"a/1", "a/2", "b/1", "c"} {
		upload(t, in, name, name)
	}
	options := &container.ListBlobsFlatOptions{MaxResults: to.Ptr(int32(3))}
	equal(t, len(pagesOf(t, in.NewListBlobsFlatPager(options))), 2)
	equal(t, blobNames(t, in, &container.ListBlobsFlatOptions{Prefix: to.Ptr("a/")}),
		[]string{"a/1", "a/2"})
	folders := []string{}
	for _, page := range pagesOf(t, in.NewListBlobsHierarchyPager("/", nil)) {
		for _, prefix := range page.Segment.BlobPrefixes {
			folders = append(folders, *prefix.Name)
		}
	}
	equal(t, folders, []string{"a/", "b/"})
}

func TestLargeBlobGoesUpAndDownWithParallelWorkers(t *testing.T) {
	in, _ := freshContainer(t)
	sent := bytes.Repeat([]byte("0123456789abcdefg"), largeSize(t)/17)
	made := in.NewBlockBlobClient("large")
	must(made.UploadStream(ctx, bytes.NewReader(sent),
		&blockblob.UploadStreamOptions{BlockSize: mib, Concurrency: 4}))(t)
	blocks := must(made.GetBlockList(ctx, blockblob.BlockListTypeCommitted, nil))(t)
	equal(t, len(blocks.CommittedBlocks), (len(sent)+mib-1)/mib)
	found := make([]byte, len(sent))
	must(made.DownloadBuffer(ctx, found,
		&blob.DownloadBufferOptions{BlockSize: mib, Concurrency: 4}))(t)
	equal(t, bytes.Equal(found, sent), true)
}

func TestBlobIsReadByRanges(t *testing.T) {
	in, _ := freshContainer(t)
	made := upload(t, in, "ranges", "0123456789").BlobClient()
	part := func(offset, count int64) *blob.DownloadStreamOptions {
		return &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: offset, Count: count}}
	}
	equal(t, content(t, made, part(3, 4)), "3456")
	equal(t, content(t, made, part(8, 9)), "89")
	beyond, err := made.DownloadStream(ctx, part(10, 1))
	refused(t, beyond, err, 416, "InvalidRange")
}

func TestBlobIsWrittenUnderConditions(t *testing.T) {
	in, _ := freshContainer(t)
	made := upload(t, in, "conditions", "first")
	under := func(conditions blob.ModifiedAccessConditions) *blockblob.UploadOptions {
		return &blockblob.UploadOptions{
			AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &conditions},
		}
	}
	exists, err := made.Upload(ctx, body("x"),
		under(blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}))
	refused(t, exists, err, 409, "BlobAlreadyExists")
	seen := must(made.GetProperties(ctx, nil))(t).ETag
	must(made.Upload(ctx, body("second"), under(blob.ModifiedAccessConditions{IfMatch: seen})))(t)
	stale, err := made.Upload(ctx, body("x"), under(blob.ModifiedAccessConditions{IfMatch: seen}))
	refused(t, stale, err, 412, "ConditionNotMet")
	equal(t, content(t, made.BlobClient(), nil), "second")
}

func TestLeaseKeepsOthersFromWriting(t *testing.T) {
	in, _ := freshContainer(t)
	made := upload(t, in, "leased", "first")
	held := must(lease.NewBlobClient(made, nil))(t)
	must(held.AcquireLease(ctx, 15, nil))(t)
	without, err := made.Upload(ctx, body("x"), nil)
	refused(t, without, err, 412, "LeaseIdMissing")
	mine := &blob.AccessConditions{
		LeaseAccessConditions: &blob.LeaseAccessConditions{LeaseID: held.LeaseID()},
	}
	must(made.Upload(ctx, body("mine"), &blockblob.UploadOptions{AccessConditions: mine}))(t)
	must(held.RenewLease(ctx, nil))(t)
	must(held.ReleaseLease(ctx, nil))(t)
	must(made.Upload(ctx, body("anybody's"), nil))(t)
}

func TestSnapshotKeepsWhatWasThere(t *testing.T) {
	in, _ := freshContainer(t)
	made := upload(t, in, "seen", "before")
	taken := must(made.CreateSnapshot(ctx, nil))(t)
	upload(t, in, "seen", "after")
	equal(t, content(t, must(made.BlobClient().WithSnapshot(*taken.Snapshot))(t), nil), "before")
	alone, err := made.Delete(ctx, nil)
	refused(t, alone, err, 409, "SnapshotsPresent")
	must(made.Delete(ctx, &blob.DeleteOptions{
		DeleteSnapshots: to.Ptr(blob.DeleteSnapshotsOptionTypeInclude),
	}))(t)
}

func TestBlobIsFoundByItsTags(t *testing.T) {
	in, name := freshContainer(t)
	made := upload(t, in, "tagged", "x")
	upload(t, in, "untagged", "x")
	must(made.SetTags(ctx, map[string]string{"home": name}, nil))(t)
	equal(t, *must(made.GetTags(ctx, nil))(t).BlobTagSet[0].Value, name)
	eventually(t, "the tags are not found", func() bool {
		found := must(blobService(t).FilterBlobs(ctx, "\"home\"='"+name+"'", nil))(t)
		return len(found.Blobs) == 1 && *found.Blobs[0].Name == "tagged"
	})
}

func TestBlobIsCopiedWithinTheAccount(t *testing.T) {
	in, _ := freshContainer(t)
	source := upload(t, in, "source", "content")
	target := in.NewBlobClient("target")
	must(target.StartCopyFromURL(ctx, source.URL(), nil))(t)
	eventually(t, "it is not copied", func() bool {
		return *must(target.GetProperties(ctx, nil))(t).CopyStatus == blob.CopyStatusTypeSuccess
	})
	equal(t, content(t, target, nil), "content")
}

func TestAppendBlobGrows(t *testing.T) {
	in, _ := freshContainer(t)
	made := in.NewAppendBlobClient("log")
	must(made.Create(ctx, nil))(t)
	for _, line := range []string{"one\n", "two\n"} {
		must(made.AppendBlock(ctx, body(line), nil))(t)
	}
	equal(t, content(t, made.BlobClient(), nil), "one\ntwo\n")
}

func TestPageBlobIsWrittenByPages(t *testing.T) {
	in, _ := freshContainer(t)
	made := in.NewPageBlobClient("disk")
	must(made.Create(ctx, 2048, nil))(t)
	page := string(bytes.Repeat([]byte("p"), 512))
	must(made.UploadPages(ctx, body(page), blob.HTTPRange{Offset: 512, Count: 512}, nil))(t)
	ranges := pagesOf(t, made.NewGetPageRangesPager(nil))[0].PageRange
	equal(t, len(ranges), 1)
	equal(t, *ranges[0].Start, int64(512))
	must(made.ClearPages(ctx, blob.HTTPRange{Offset: 512, Count: 512}, nil))(t)
	equal(t, content(t, made.BlobClient(), nil), string(make([]byte, 2048)))
}

func TestBlobsAreDeletedInABatch(t *testing.T) {
	in, _ := freshContainer(t)
	batch := must(in.NewBatchBuilder())(t)
	for number := range 10 {
		name := "blob " + strconv.Itoa(number)
		upload(t, in, name, "x")
		if err := batch.Delete(name, nil); err != nil {
			t.Fatal(err)
		}
	}
	answer := must(in.SubmitBatch(ctx, batch, nil))(t)
	equal(t, len(answer.Responses), 10)
	equal(t, blobNames(t, in, nil), []string{})
}

func TestSignatureOfABlobReadsItAlone(t *testing.T) {
	in, _ := freshContainer(t)
	made := upload(t, in, "one", "signed")
	signed := must(made.GetSASURL(sas.BlobPermissions{Read: true}, time.Now().Add(time.Hour), nil))(t)
	reached := must(blockblob.NewClientWithNoCredential(signed, nil))(t)
	equal(t, content(t, reached.BlobClient(), nil), "signed")
	written, err := reached.Upload(ctx, body("x"), nil)
	refused(t, written, err, 403, "AuthorizationPermissionMismatch")
}

func TestSignatureOfTheAccountLists(t *testing.T) {
	in, name := freshContainer(t)
	upload(t, in, "one", "x")
	signed := must(blobService(t).GetSASURL(sas.AccountResourceTypes{Container: true},
		sas.AccountPermissions{List: true}, time.Now().Add(time.Hour), nil))(t)
	reached := must(service.NewClientWithNoCredential(signed, nil))(t).NewContainerClient(name)
	equal(t, blobNames(t, reached, nil), []string{"one"})
}

func TestBearerTokenReadsBlobsAndGetsAKey(t *testing.T) {
	token, endpoints := bearer(os.Getenv("TABULARIUM_TOKEN")), settingsOf(tlsConnectionString)
	transport := trusting(t)
	owner := must(service.NewClient(endpoints["BlobEndpoint"], token,
		&service.ClientOptions{ClientOptions: transport}))(t)
	name := freshName("c")
	in := owner.NewContainerClient(name)
	must(in.Create(ctx, nil))(t)
	t.Cleanup(func() { _, _ = in.Delete(ctx, nil) })
	upload(t, in, "one", "bearer")
	start, expiry := time.Now().UTC().Add(-time.Minute), time.Now().UTC().Add(time.Hour)
	must(owner.GetUserDelegationCredential(ctx, keyTimes(start, expiry), nil))(t)
	reached := in.NewBlobClient("one")
	equal(t, content(t, reached, nil), "bearer")
}

func keyTimes(start, expiry time.Time) service.KeyInfo {
	return service.KeyInfo{
		Start: to.Ptr(start.Format(sas.TimeFormat)), Expiry: to.Ptr(expiry.Format(sas.TimeFormat)),
	}
}

// The client takes the account of a delegated signature from the first label of the host.
func TestDelegatedSignatureReadsABlobAlone(t *testing.T) {
	token, endpoints := bearer(os.Getenv("TABULARIUM_TOKEN")), settingsOf(tlsConnectionString)
	address := must(url.Parse(endpoints["BlobEndpoint"]))(t)
	transport := named(t, address.Host)
	endpoint := "https://devstoreaccount1.blob.localhost:" + address.Port()
	owner := must(service.NewClient(endpoint, token,
		&service.ClientOptions{ClientOptions: transport}))(t)
	name := freshName("c")
	in := owner.NewContainerClient(name)
	must(in.Create(ctx, nil))(t)
	t.Cleanup(func() { _, _ = in.Delete(ctx, nil) })
	made := upload(t, in, "one", "delegated")
	other := upload(t, in, "other", "x")
	start, expiry := time.Now().UTC().Add(-time.Minute), time.Now().UTC().Add(time.Hour)
	delegated := must(owner.GetUserDelegationCredential(ctx, keyTimes(start, expiry), nil))(t)
	signed := must(sas.BlobSignatureValues{
		Protocol: sas.ProtocolHTTPS, StartTime: start, ExpiryTime: expiry,
		ContainerName: name, BlobName: "one",
		Permissions: (&sas.BlobPermissions{Read: true}).String(),
	}.SignWithUserDelegation(delegated))(t)
	query := "?" + signed.Encode()
	options := &blockblob.ClientOptions{ClientOptions: transport}
	reached := must(blockblob.NewClientWithNoCredential(made.URL()+query, options))(t)
	equal(t, content(t, reached.BlobClient(), nil), "delegated")
	written, err := reached.Upload(ctx, body("x"), nil)
	refused(t, written, err, 403, "AuthorizationPermissionMismatch")
	beside := must(blockblob.NewClientWithNoCredential(other.URL()+query, options))(t)
	answer, err := beside.DownloadStream(ctx, nil)
	refused(t, answer, err, 403, "AuthenticationFailed")
}

// named makes clients reach the server under names that no resolver knows.
func named(t *testing.T, address string) azcore.ClientOptions {
	t.Helper()
	options := trusting(t)
	transport := options.Transport.(*http.Client).Transport.(*http.Transport)
	transport.TLSClientConfig.ServerName = "localhost"
	transport.DialContext = func(dial context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(dial, network, address)
	}
	return options
}
