package interop

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/sas"
)

func queueNames(t *testing.T, options *azqueue.ListQueuesOptions) []string {
	t.Helper()
	names := []string{}
	for _, page := range pagesOf(t, queueService(t).NewListQueuesPager(options)) {
		for _, queue := range page.Queues {
			names = append(names, *queue.Name)
		}
	}
	return names
}

func TestQueuesAreCreatedListedAndDeleted(t *testing.T) {
	service, prefix := queueService(t), freshName("q")
	for _, letter := range []string{"c", "b", "a"} {
		must(service.CreateQueue(ctx, prefix+letter, nil))(t)
	}
	options := &azqueue.ListQueuesOptions{Prefix: &prefix}
	equal(t, queueNames(t, options), []string{prefix + "a", prefix + "b", prefix + "c"})
	must(service.DeleteQueue(ctx, prefix+"b", nil))(t)
	equal(t, queueNames(t, options), []string{prefix + "a", prefix + "c"})
}

func TestQueuesComeInPagesAndGoOnFromAMarkerThatWasKept(t *testing.T) {
	service, prefix := queueService(t), freshName("q")
	names := []string{}
	for number := range 5 {
		names = append(names, fmt.Sprintf("%s%d", prefix, number))
		must(service.CreateQueue(ctx, names[number], nil))(t)
	}
	options := &azqueue.ListQueuesOptions{Prefix: &prefix, MaxResults: to.Ptr(int32(2))}
	pages := pagesOf(t, service.NewListQueuesPager(options))
	equal(t, len(pages), 3)
	options.Marker = pages[0].NextMarker
	equal(t, queueNames(t, options), names[2:])
}

func metadataOf(found map[string]*string) map[string]string {
	plain := map[string]string{}
	for name, value := range found {
		plain[strings.ToLower(name)] = *value
	}
	return plain
}

func TestQueueMetadataIsSetListedAndReplaced(t *testing.T) {
	queue, name := freshQueue(t)
	metadata := map[string]*string{"colour": to.Ptr("blue"), "b": to.Ptr("two words")}
	must(queue.SetMetadata(ctx, &azqueue.SetMetadataOptions{Metadata: metadata}))(t)
	equal(t, metadataOf(must(queue.GetProperties(ctx, nil))(t).Metadata), metadataOf(metadata))
	listed := pagesOf(t, queueService(t).NewListQueuesPager(&azqueue.ListQueuesOptions{
		Prefix: &name, Include: azqueue.ListQueuesInclude{Metadata: true},
	}))
	equal(t, metadataOf(listed[0].Queues[0].Metadata), metadataOf(metadata))
	must(queue.SetMetadata(ctx, nil))(t)
	equal(t, len(must(queue.GetProperties(ctx, nil))(t).Metadata), 0)
}

func TestQueueThatExistsIsRefusedWithOtherMetadata(t *testing.T) {
	queue, _ := freshQueue(t)
	must(queue.Create(ctx, nil))(t)
	options := &azqueue.CreateOptions{Metadata: map[string]*string{"a": to.Ptr("1")}}
	answer, err := queue.Create(ctx, options)
	refused(t, answer, err, 409, "QueueAlreadyExists")
}

func TestQueueThatIsMissingIsTold(t *testing.T) {
	missing := queueService(t).NewQueueClient(freshName("q"))
	deleted, err := missing.Delete(ctx, nil)
	refused(t, deleted, err, 404, "QueueNotFound")
	sent, err := missing.EnqueueMessage(ctx, "x", nil)
	refused(t, sent, err, 404, "QueueNotFound")
}

func TestQueueWithAnIllegalNameIsRefused(t *testing.T) {
	for name, code := range map[string]string{"ab": "OutOfRangeInput", "Upper": "InvalidResourceName"} {
		answer, err := queueService(t).CreateQueue(ctx, name, nil)
		refused(t, answer, err, 400, code)
	}
}

func TestWrongKeyOfQueuesIsRefused(t *testing.T) {
	wrong := must(azqueue.NewSharedKeyCredential(settings["AccountName"], "bm8="))(t)
	service := must(azqueue.NewServiceClientWithSharedKeyCredential(settings["QueueEndpoint"], wrong, nil))(t)
	answer, err := service.GetServiceProperties(ctx, nil)
	refused(t, answer, err, 403, "AuthenticationFailed")
}

func queueCredential(t *testing.T) *azqueue.SharedKeyCredential {
	t.Helper()
	return must(azqueue.NewSharedKeyCredential(settings["AccountName"], settings["AccountKey"]))(t)
}

// queueGuest knows a signature and no key.
func queueGuest(t *testing.T, values sas.QueueSignatureValues) *azqueue.QueueClient {
	t.Helper()
	values.Protocol = sas.ProtocolHTTPSandHTTP
	signed := must(values.SignWithSharedKey(queueCredential(t)))(t)
	address := settings["QueueEndpoint"] + "/" + values.QueueName + "?" + signed.Encode()
	return must(azqueue.NewQueueClientWithNoCredential(address, nil))(t)
}

func TestQueueSignaturesDivideTheWork(t *testing.T) {
	_, name := freshQueue(t)
	allowed := func(permissions sas.QueuePermissions) *azqueue.QueueClient {
		return queueGuest(t, sas.QueueSignatureValues{
			QueueName: name, Permissions: permissions.String(), ExpiryTime: inHours(1),
		})
	}
	sender := allowed(sas.QueuePermissions{Add: true})
	worker := allowed(sas.QueuePermissions{Process: true})
	must(sender.EnqueueMessage(ctx, "work", nil))(t)
	peeked, err := sender.PeekMessage(ctx, nil)
	refused(t, peeked, err, 403, "AuthorizationPermissionMismatch")
	got, err := sender.DequeueMessage(ctx, nil)
	refused(t, got, err, 403, "AuthorizationPermissionMismatch")
	sent, err := worker.EnqueueMessage(ctx, "x", nil)
	refused(t, sent, err, 403, "AuthorizationPermissionMismatch")
	message := must(worker.DequeueMessage(ctx, nil))(t).Messages[0]
	equal(t, *message.MessageText, "work")
	must(worker.DeleteMessage(ctx, *message.MessageID, *message.PopReceipt, nil))(t)
}

func TestQueueSignatureIsRefusedOutOfItsTime(t *testing.T) {
	_, name := freshQueue(t)
	for _, period := range [][2]time.Time{{inHours(-2), inHours(-1)}, {inHours(1), inHours(2)}} {
		visitor := queueGuest(t, sas.QueueSignatureValues{
			QueueName: name, Permissions: "r", StartTime: period[0], ExpiryTime: period[1],
		})
		answer, err := visitor.PeekMessage(ctx, nil)
		refused(t, answer, err, 403, "AuthenticationFailed")
	}
}

func TestQueueSignatureOfTheAccountWorks(t *testing.T) {
	signed := must(sas.AccountSignatureValues{
		Protocol: sas.ProtocolHTTPSandHTTP, ExpiryTime: inHours(1),
		Permissions: "rac", ResourceTypes: "co",
	}.SignWithSharedKey(queueCredential(t)))(t)
	address := settings["QueueEndpoint"] + "/?" + signed.Encode()
	service := must(azqueue.NewServiceClientWithNoCredential(address, nil))(t)
	queue := service.NewQueueClient(freshName("q"))
	must(queue.Create(ctx, nil))(t)
	must(queue.EnqueueMessage(ctx, "text", nil))(t)
	equal(t, *must(queue.PeekMessage(ctx, nil))(t).Messages[0].MessageText, "text")
	deleted, err := queue.Delete(ctx, nil)
	refused(t, deleted, err, 403, "AuthorizationPermissionMismatch")
	properties, err := service.GetServiceProperties(ctx, nil)
	refused(t, properties, err, 403, "AuthorizationResourceTypeMismatch")
}

func TestQueuePoliciesAreSetAndGot(t *testing.T) {
	queue, _ := freshQueue(t)
	start := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	expiry := start.AddDate(0, 0, 7)
	must(queue.SetAccessPolicy(ctx, &azqueue.SetAccessPolicyOptions{
		QueueACL: []*azqueue.SignedIdentifier{{ID: to.Ptr("reader"), AccessPolicy: &azqueue.AccessPolicy{
			Permission: to.Ptr("r"), Start: &start, Expiry: &expiry,
		}}},
	}))(t)
	found := must(queue.GetAccessPolicy(ctx, nil))(t).SignedIdentifiers
	equal(t, len(found), 1)
	equal(t, *found[0].ID, "reader")
	equal(t, *found[0].AccessPolicy.Permission, "r")
	equal(t, found[0].AccessPolicy.Start.Equal(start), true)
	equal(t, found[0].AccessPolicy.Expiry.Equal(expiry), true)
	must(queue.SetAccessPolicy(ctx, nil))(t)
	equal(t, len(must(queue.GetAccessPolicy(ctx, nil))(t).SignedIdentifiers), 0)
}

func TestQueueSignatureFollowsAStoredPolicyUntilItIsRevoked(t *testing.T) {
	queue, name := freshQueue(t)
	must(queue.SetAccessPolicy(ctx, &azqueue.SetAccessPolicyOptions{
		QueueACL: []*azqueue.SignedIdentifier{{ID: to.Ptr("reader"), AccessPolicy: &azqueue.AccessPolicy{
			Permission: to.Ptr("r"), Start: to.Ptr(inHours(-1)), Expiry: to.Ptr(inHours(1)),
		}}},
	}))(t)
	visitor := queueGuest(t, sas.QueueSignatureValues{QueueName: name, Identifier: "reader"})
	equal(t, len(must(visitor.PeekMessage(ctx, nil))(t).Messages), 0)
	sent, err := visitor.EnqueueMessage(ctx, "x", nil)
	refused(t, sent, err, 403, "AuthorizationPermissionMismatch")
	must(queue.SetAccessPolicy(ctx, nil))(t)
	answer, err := visitor.PeekMessage(ctx, nil)
	refused(t, answer, err, 403, "AuthenticationFailed")
}
