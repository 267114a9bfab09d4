// Package interop has programs of the Go clients, which talk to a running server.
//
// `npm run test:interop` starts the servers and puts their connection strings into the environment.
package interop

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue"
)

var (
	ctx              = context.Background()
	connectionString = os.Getenv("TABULARIUM_CONNECTION_STRING")
	settings         = settingsOf(connectionString)
)

func settingsOf(connectionString string) map[string]string {
	settings := map[string]string{}
	for _, part := range strings.Split(strings.Trim(connectionString, ";"), ";") {
		name, value, _ := strings.Cut(part, "=")
		settings[name] = value
	}
	return settings
}

func TestMain(m *testing.M) {
	if connectionString == "" {
		fmt.Fprintln(os.Stderr, "run these tests with: npm run test:interop go")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// freshName is a name of a table or a queue that no other test uses.
func freshName(letter string) string {
	bytes := make([]byte, 16)
	_, _ = rand.Read(bytes)
	return letter + hex.EncodeToString(bytes)
}

func inHours(hours int) time.Time {
	return time.Now().UTC().Truncate(time.Second).Add(time.Duration(hours) * time.Hour)
}

// must gives what a call returned, unless it failed.
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func equal(t *testing.T, found, expected any) {
	t.Helper()
	if !reflect.DeepEqual(found, expected) {
		t.Fatalf("found %#v, expected %#v", found, expected)
	}
}

// refused expects a status and a code of the service, wherever a client puts the code.
func refused[T any](t *testing.T, _ T, err error, status int, code string) *azcore.ResponseError {
	t.Helper()
	var refusal *azcore.ResponseError
	if !errors.As(err, &refusal) {
		t.Fatalf("expected %d %s, found %v", status, code, err)
	}
	if refusal.StatusCode != status || !strings.Contains(refusal.Error(), code) {
		t.Fatalf("expected %d %s, found %v", status, code, refusal)
	}
	return refusal
}

// refusedTransaction expects a refusal of the operation with an index, whose answer is inside of one
// with status 202.
func refusedTransaction(t *testing.T, err error, status int, code string, index int) {
	t.Helper()
	refusal := refused(t, 0, err, 202, code)
	for _, part := range []string{fmt.Sprintf("HTTP/1.1 %d ", status), fmt.Sprintf(`"value":"%d:`, index)} {
		if !strings.Contains(refusal.Error(), part) {
			t.Fatalf("expected %s, found %v", part, refusal)
		}
	}
}

func pagesOf[T any](t *testing.T, pager *runtime.Pager[T]) []T {
	t.Helper()
	var pages []T
	for pager.More() {
		pages = append(pages, must(pager.NextPage(ctx))(t))
	}
	return pages
}

// eventually waits until the condition holds.
func eventually(t *testing.T, complaint string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !condition(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(complaint)
		}
	}
}

// ask does what a browser would do without any client.
func ask(t *testing.T, method, url string, headers map[string]string) *http.Response {
	t.Helper()
	request := must(http.NewRequest(method, url, nil))(t)
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	answer := must(http.DefaultClient.Do(request))(t)
	_ = answer.Body.Close()
	return answer
}

func tableService(t *testing.T) *aztables.ServiceClient {
	t.Helper()
	return must(aztables.NewServiceClientFromConnectionString(connectionString, nil))(t)
}

func tableCredential(t *testing.T) *aztables.SharedKeyCredential {
	t.Helper()
	return must(aztables.NewSharedKeyCredential(settings["AccountName"], settings["AccountKey"]))(t)
}

// freshTable makes a table of the test's own.
func freshTable(t *testing.T) (*aztables.Client, string) {
	t.Helper()
	name := freshName("t")
	table := tableService(t).NewClient(name)
	must(table.CreateTable(ctx, nil))(t)
	t.Cleanup(func() { _, _ = table.Delete(ctx, nil) })
	return table, name
}

func queueService(t *testing.T) *azqueue.ServiceClient {
	t.Helper()
	return must(azqueue.NewServiceClientFromConnectionString(connectionString, nil))(t)
}

func freshQueue(t *testing.T) (*azqueue.QueueClient, string) {
	t.Helper()
	name := freshName("q")
	queue := queueService(t).NewQueueClient(name)
	must(queue.Create(ctx, nil))(t)
	t.Cleanup(func() { _, _ = queue.Delete(ctx, nil) })
	return queue, name
}

// object is an entity as JSON has it; EDMEntity doubles the quotes in keys and knows no NaN.
type object map[string]any

func (entity object) bytes(t *testing.T) []byte {
	t.Helper()
	return must(json.Marshal(entity))(t)
}

func keys(partition, row string) object {
	return object{"PartitionKey": partition, "RowKey": row}
}

// with is an entity with some more properties.
func (entity object) with(more object) object {
	all := object{}
	for _, part := range []object{entity, more} {
		for name, value := range part {
			all[name] = value
		}
	}
	return all
}

// read gives an entity without what the service adds. Numbers stay as they are written.
func read(t *testing.T, data []byte) object {
	t.Helper()
	var entity object
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&entity); err != nil {
		t.Fatal(err)
	}
	for name := range entity {
		if strings.HasPrefix(name, "odata.") || strings.HasPrefix(name, "Timestamp") {
			delete(entity, name)
		}
	}
	return entity
}

func stored(t *testing.T, table *aztables.Client, partition, row string) object {
	t.Helper()
	return read(t, must(table.GetEntity(ctx, partition, row, nil))(t).Value)
}

// entities are all that a query finds, over all its pages.
func entities(t *testing.T, table *aztables.Client, options *aztables.ListEntitiesOptions) []object {
	t.Helper()
	found := []object{}
	for _, page := range pagesOf(t, table.NewListEntitiesPager(options)) {
		for _, entity := range page.Entities {
			found = append(found, read(t, entity))
		}
	}
	return found
}

func rowKeys(found []object) []string {
	rows := []string{}
	for _, entity := range found {
		rows = append(rows, entity["RowKey"].(string))
	}
	return rows
}

func where(filter string) *aztables.ListEntitiesOptions {
	return &aztables.ListEntitiesOptions{Filter: to.Ptr(filter)}
}

// insertNumbers fills a partition with rows 00000, 00001, …
func insertNumbers(t *testing.T, table *aztables.Client, partition string, count int) {
	t.Helper()
	for first := 0; first < count; first += 100 {
		var actions []aztables.TransactionAction
		for number := first; number < min(first+100, count); number++ {
			row := keys(partition, fmt.Sprintf("%05d", number)).with(object{"Number": number})
			actions = append(actions, action(t, aztables.TransactionTypeAdd, row))
		}
		must(table.SubmitTransaction(ctx, actions, nil))(t)
	}
}

func action(t *testing.T, kind aztables.TransactionType, entity object) aztables.TransactionAction {
	t.Helper()
	return aztables.TransactionAction{ActionType: kind, Entity: entity.bytes(t)}
}
