package interop

import (
	"testing"

	"github.com/go-kit/log"
	"github.com/thanos-io/objstore"
	"github.com/thanos-io/objstore/providers/azure"
)

// The library by which Thanos and others keep blocks of metrics has a test that each provider must pass.
func TestObjectStoreOfThanos(t *testing.T) {
	config := azure.DefaultConfig
	config.StorageAccountName = settings["AccountName"]
	config.StorageConnectionString = connectionString
	config.ContainerName = freshName("thanos")
	config.StorageCreateContainer = true
	bucket, err := azure.NewBucketWithConfig(log.NewNopLogger(), config, "interop", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bucket.Close() })
	objstore.AcceptanceTest(t, bucket)
}
