package interop

import (
	"errors"
	"testing"

	"github.com/dapr/components-contrib/metadata"
	"github.com/dapr/components-contrib/state"
	"github.com/dapr/components-contrib/state/azure/tablestorage"
	"github.com/dapr/kit/logger"
)

// freshStateStore is the state store component of Dapr, over a table of its own.
func freshStateStore(t *testing.T) state.Store {
	t.Helper()
	store := tablestorage.NewAzureTablesStateStore(logger.NewLogger("interop"))
	properties := map[string]string{
		"accountName": settings["AccountName"],
		"accountKey":  settings["AccountKey"],
		"serviceURL":  settings["TableEndpoint"],
		"tableName":   freshName("t"),
	}
	if err := store.Init(ctx, state.Metadata{Base: metadata.Base{Properties: properties}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func getState(t *testing.T, store state.Store, key string) *state.GetResponse {
	t.Helper()
	found, err := store.Get(ctx, &state.GetRequest{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func setState(store state.Store, key, value string, etag *string) error {
	return store.Set(ctx, &state.SetRequest{Key: key, Value: []byte(value), ETag: etag})
}

func TestStateStoreKeepsReplacesAndDeletes(t *testing.T) {
	store := freshStateStore(t)
	if found := getState(t, store, "app||absent"); found.Data != nil || found.ETag != nil {
		t.Fatalf("a key that was never set has %v", found)
	}
	for _, value := range []string{`{"count":1}`, `{"count":2}`, ``} {
		if err := setState(store, "app||key", value, nil); err != nil {
			t.Fatal(err)
		}
		if found := getState(t, store, "app||key"); string(found.Data) != value {
			t.Fatalf("%q was set, %q is there", value, found.Data)
		}
	}
	if err := store.Delete(ctx, &state.DeleteRequest{Key: "app||key"}); err != nil {
		t.Fatal(err)
	}
	if found := getState(t, store, "app||key"); found.ETag != nil {
		t.Fatalf("a deleted key has %v", found)
	}
}

func TestStateStoreRefusesStaleETags(t *testing.T) {
	store := freshStateStore(t)
	if err := setState(store, "app||key", "first", nil); err != nil {
		t.Fatal(err)
	}
	stale := getState(t, store, "app||key").ETag
	if err := setState(store, "app||key", "second", stale); err != nil {
		t.Fatal(err)
	}
	calls := map[string]error{
		"set":    setState(store, "app||key", "third", stale),
		"delete": store.Delete(ctx, &state.DeleteRequest{Key: "app||key", ETag: stale}),
	}
	for name, err := range calls {
		var refusal *state.ETagError
		if !errors.As(err, &refusal) || refusal.Kind() != state.ETagMismatch {
			t.Errorf("%s with a stale ETag: %v", name, err)
		}
	}
	if found := getState(t, store, "app||key"); string(found.Data) != "second" {
		t.Errorf("%q is there", found.Data)
	}
}

func TestStateStoreWritesOnceOnly(t *testing.T) {
	store := freshStateStore(t)
	once := state.SetStateOption{Concurrency: state.FirstWrite}
	write := func(value string) error {
		return store.Set(ctx, &state.SetRequest{Key: "app||key", Value: []byte(value), Options: once})
	}
	if err := write("first"); err != nil {
		t.Fatal(err)
	}
	if err := write("second"); err == nil {
		t.Error("a second first write was accepted")
	}
	if found := getState(t, store, "app||key"); string(found.Data) != "first" {
		t.Errorf("%q is there", found.Data)
	}
}
