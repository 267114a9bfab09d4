package interop

import (
	"net/url"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// partitions is a table of the partitions a to d, each with the rows 1 to 3.
func partitions(t *testing.T) (*aztables.Client, string) {
	t.Helper()
	table, name := freshTable(t)
	for _, partition := range []string{"a", "b", "c", "d"} {
		var actions []aztables.TransactionAction
		for _, row := range []string{"1", "2", "3"} {
			actions = append(actions, action(t, aztables.TransactionTypeAdd, keys(partition, row)))
		}
		must(table.SubmitTransaction(ctx, actions, nil))(t)
	}
	return table, name
}

// guest knows a signature and no key.
func guest(t *testing.T, values aztables.SASSignatureValues) *aztables.Client {
	t.Helper()
	values.Protocol = aztables.SASProtocolHTTPSandHTTP
	query := must(values.Sign(tableCredential(t)))(t)
	// This client signs the range of keys, but does not put it into the query.
	for name, value := range map[string]string{
		"spk": values.StartPartitionKey, "srk": values.StartRowKey,
		"epk": values.EndPartitionKey, "erk": values.EndRowKey,
	} {
		if value != "" {
			query += "&" + name + "=" + url.QueryEscape(value)
		}
	}
	address := settings["TableEndpoint"] + "/" + values.TableName + "?" + query
	return must(aztables.NewClientWithNoCredential(address, nil))(t)
}

func TestTableSignatureShowsOnlyTheRowsInItsRange(t *testing.T) {
	_, name := partitions(t)
	visitor := guest(t, aztables.SASSignatureValues{
		TableName: name, Permissions: "raud", ExpiryTime: inHours(1),
		StartPartitionKey: "b", StartRowKey: "2", EndPartitionKey: "c", EndRowKey: "2",
	})
	equal(t, entities(t, visitor, nil), []object{
		keys("b", "2"), keys("b", "3"), keys("c", "1"), keys("c", "2"),
	})
	must(visitor.UpsertEntity(ctx, keys("c", "11").bytes(t), nil))(t)
	outside := keys("d", "1")
	added, err := visitor.AddEntity(ctx, outside.bytes(t), nil)
	refused(t, added, err, 403, "AuthorizationFailure")
	upserted, err := visitor.UpsertEntity(ctx, outside.bytes(t), nil)
	refused(t, upserted, err, 403, "AuthorizationFailure")
	updated, err := visitor.UpdateEntity(ctx, outside.bytes(t), nil)
	refused(t, updated, err, 403, "AuthorizationFailure")
	found, err := visitor.GetEntity(ctx, "a", "1", nil)
	refused(t, found, err, 404, "ResourceNotFound")
	_, err = visitor.SubmitTransaction(ctx, []aztables.TransactionAction{
		action(t, aztables.TransactionTypeAdd, keys("a", "new")),
	}, nil)
	refusedTransaction(t, err, 403, "AuthorizationFailure", 0)
}

func TestTableSignatureAllowsNoMoreThanItSays(t *testing.T) {
	_, name := partitions(t)
	allowed := func(permissions string) *aztables.Client {
		return guest(t, aztables.SASSignatureValues{
			TableName: name, Permissions: permissions, ExpiryTime: inHours(1),
		})
	}
	reader := allowed("r")
	equal(t, len(entities(t, reader, nil)), 12)
	added, err := reader.AddEntity(ctx, keys("a", "new").bytes(t), nil)
	refused(t, added, err, 403, "AuthorizationPermissionMismatch")
	updated, err := reader.UpdateEntity(ctx, keys("a", "1").bytes(t), nil)
	refused(t, updated, err, 403, "AuthorizationPermissionMismatch")
	deleted, err := reader.DeleteEntity(ctx, "a", "1", nil)
	refused(t, deleted, err, 403, "AuthorizationPermissionMismatch")
	writer := allowed("a")
	must(writer.AddEntity(ctx, keys("a", "new").bytes(t), nil))(t)
	found, err := writer.GetEntity(ctx, "a", "new", nil)
	refused(t, found, err, 403, "AuthorizationPermissionMismatch")
}

func TestTableSignatureIsRefusedOutOfItsTime(t *testing.T) {
	_, name := partitions(t)
	for _, period := range [][2]time.Time{{inHours(-2), inHours(-1)}, {inHours(1), inHours(2)}} {
		visitor := guest(t, aztables.SASSignatureValues{
			TableName: name, Permissions: "r", StartTime: period[0], ExpiryTime: period[1],
		})
		answer, err := visitor.NewListEntitiesPager(nil).NextPage(ctx)
		refused(t, answer, err, 403, "AuthenticationFailed")
	}
}

func TestTableSignatureForHttpsIsRefusedOverHttp(t *testing.T) {
	_, name := partitions(t)
	query := must(aztables.SASSignatureValues{
		TableName: name, Permissions: "r", ExpiryTime: inHours(1), Protocol: aztables.SASProtocolHTTPS,
	}.Sign(tableCredential(t)))(t)
	address := settings["TableEndpoint"] + "/" + name + "?" + query
	visitor := must(aztables.NewClientWithNoCredential(address, nil))(t)
	answer, err := visitor.NewListEntitiesPager(nil).NextPage(ctx)
	refused(t, answer, err, 403, "AuthorizationProtocolMismatch")
}

func TestTableSignatureOfTheAccountWorks(t *testing.T) {
	_, name := partitions(t)
	allowed := func(permissions string) *aztables.Client {
		values := must(aztables.AccountSASSignatureValues{
			Protocol: aztables.SASProtocolHTTPSandHTTP, ExpiryTime: inHours(1),
			Permissions: permissions, Services: "t", ResourceTypes: "so",
		}.Sign(tableCredential(t)))(t)
		address := settings["TableEndpoint"] + "/?" + values.Encode()
		return must(aztables.NewServiceClientWithNoCredential(address, nil))(t).NewClient(name)
	}
	writer, reader := allowed("rwa"), allowed("r")
	must(writer.AddEntity(ctx, keys("a", "new").bytes(t), nil))(t)
	equal(t, stored(t, reader, "a", "new"), keys("a", "new"))
	added, err := reader.AddEntity(ctx, keys("a", "x").bytes(t), nil)
	refused(t, added, err, 403, "AuthorizationPermissionMismatch")
	created, err := writer.CreateTable(ctx, nil)
	refused(t, created, err, 403, "AuthorizationResourceTypeMismatch")
}

func TestTablePoliciesAreSetAndGot(t *testing.T) {
	table, _ := freshTable(t)
	start := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	expiry := start.AddDate(0, 0, 7)
	must(table.SetAccessPolicy(ctx, &aztables.SetAccessPolicyOptions{
		TableACL: []*aztables.SignedIdentifier{{ID: to.Ptr("reader"), AccessPolicy: &aztables.AccessPolicy{
			Permission: to.Ptr("r"), Start: &start, Expiry: &expiry,
		}}},
	}))(t)
	found := must(table.GetAccessPolicy(ctx, nil))(t).SignedIdentifiers
	equal(t, len(found), 1)
	equal(t, *found[0].ID, "reader")
	equal(t, *found[0].AccessPolicy.Permission, "r")
	equal(t, found[0].AccessPolicy.Start.Equal(start), true)
	equal(t, found[0].AccessPolicy.Expiry.Equal(expiry), true)
	must(table.SetAccessPolicy(ctx, &aztables.SetAccessPolicyOptions{}))(t)
	equal(t, len(must(table.GetAccessPolicy(ctx, nil))(t).SignedIdentifiers), 0)
}

func TestTableSignatureFollowsAStoredPolicyUntilItIsRevoked(t *testing.T) {
	table, name := partitions(t)
	must(table.SetAccessPolicy(ctx, &aztables.SetAccessPolicyOptions{
		TableACL: []*aztables.SignedIdentifier{{ID: to.Ptr("reader"), AccessPolicy: &aztables.AccessPolicy{
			Permission: to.Ptr("r"), Start: to.Ptr(inHours(-1)), Expiry: to.Ptr(inHours(1)),
		}}},
	}))(t)
	visitor := guest(t, aztables.SASSignatureValues{TableName: name, Identifier: "reader"})
	equal(t, len(entities(t, visitor, nil)), 12)
	deleted, err := visitor.DeleteEntity(ctx, "a", "1", nil)
	refused(t, deleted, err, 403, "AuthorizationPermissionMismatch")
	must(table.SetAccessPolicy(ctx, &aztables.SetAccessPolicyOptions{}))(t)
	answer, err := visitor.NewListEntitiesPager(nil).NextPage(ctx)
	refused(t, answer, err, 403, "AuthenticationFailed")
}
