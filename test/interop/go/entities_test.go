package interop

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

func TestEntityIsCreatedReadAndDeleted(t *testing.T) {
	table, _ := freshTable(t)
	created := must(table.AddEntity(ctx, keys("p", "r").with(object{"Name": "Ada"}).bytes(t), nil))(t)
	found := must(table.GetEntity(ctx, "p", "r", nil))(t)
	equal(t, found.ETag, created.ETag)
	var entity aztables.EDMEntity
	if err := json.Unmarshal(found.Value, &entity); err != nil {
		t.Fatal(err)
	}
	equal(t, entity.Properties, map[string]any{"Name": "Ada"})
	equal(t, entity.ETag, string(created.ETag))
	if age := time.Since(time.Time(entity.Timestamp)).Abs(); age > time.Minute {
		t.Fatalf("the timestamp is %v off", age)
	}
	must(table.DeleteEntity(ctx, "p", "r", nil))(t)
	read, err := table.GetEntity(ctx, "p", "r", nil)
	refused(t, read, err, 404, "ResourceNotFound")
	deleted, err := table.DeleteEntity(ctx, "p", "r", nil)
	refused(t, deleted, err, 404, "ResourceNotFound")
}

func TestEntityThatExistsIsRefused(t *testing.T) {
	table, _ := freshTable(t)
	must(table.AddEntity(ctx, keys("p", "r").bytes(t), nil))(t)
	answer, err := table.AddEntity(ctx, keys("p", "r").bytes(t), nil)
	refused(t, answer, err, 409, "EntityAlreadyExists")
}

func TestEntityKeepsEveryType(t *testing.T) {
	table, _ := freshTable(t)
	moment := time.Date(2025, 11, 21, 10, 30, 15, 123456700, time.UTC)
	properties := map[string]any{
		"Text":     "žluťoučký kůň 🐎",
		"Empty":    "",
		"Small":    int32(math.MinInt32),
		"Big":      aztables.EDMInt64(math.MaxInt64),
		"Negative": aztables.EDMInt64(math.MinInt64),
		"Fraction": -2.5e-300,
		"Large":    math.MaxFloat64,
		"Tiny":     math.SmallestNonzeroFloat64,
		"Truth":    true,
		"Untruth":  false,
		"Moment":   aztables.EDMDateTime(moment),
		"First":    aztables.EDMDateTime(time.Date(1601, 1, 1, 0, 0, 0, 0, time.UTC)),
		"Last":     aztables.EDMDateTime(time.Date(9999, 12, 31, 23, 59, 59, 999999900, time.UTC)),
		"Identity": aztables.EDMGUID("c9da6455-213d-42c9-9a79-3e9149a57833"),
		"Bytes":    aztables.EDMBinary{0, 1, 0xfe, 0xff},
		"NoBytes":  aztables.EDMBinary{},
	}
	entity := aztables.EDMEntity{
		Entity:     aztables.Entity{PartitionKey: "p", RowKey: "r"},
		Properties: properties,
	}
	must(table.AddEntity(ctx, must(json.Marshal(entity))(t), nil))(t)
	var found aztables.EDMEntity
	if err := json.Unmarshal(must(table.GetEntity(ctx, "p", "r", nil))(t).Value, &found); err != nil {
		t.Fatal(err)
	}
	for name, value := range properties {
		equal(t, found.Properties[name], value)
	}
	equal(t, len(found.Properties), len(properties))
}

func TestEntityKeepsWholeDoublesAndThoseThatAreNotNumbers(t *testing.T) {
	table, _ := freshTable(t)
	entity := keys("p", "r").with(object{
		// This client writes a whole number without a point, which is an Int32 unless it has a type.
		"Whole": json.Number("3"), "Whole@odata.type": "Edm.Double",
		"NaN": "NaN", "NaN@odata.type": "Edm.Double",
		"High": "Infinity", "High@odata.type": "Edm.Double",
		"Low": "-Infinity", "Low@odata.type": "Edm.Double",
	})
	must(table.AddEntity(ctx, entity.bytes(t), nil))(t)
	// What the client returns it has written anew: the service's own text is in the answer.
	var answer *http.Response
	_, err := table.GetEntity(policy.WithCaptureResponse(ctx, &answer), "p", "r", nil)
	if err != nil {
		t.Fatal(err)
	}
	entity["Whole"] = json.Number("3.0")
	delete(entity, "Whole@odata.type")
	equal(t, read(t, must(runtime.Payload(answer))(t)), entity)
}

func TestEntityIsMergedAndReplaced(t *testing.T) {
	table, _ := freshTable(t)
	must(table.AddEntity(ctx, keys("p", "r").with(object{"A": "1", "B": "2"}).bytes(t), nil))(t)
	merge := &aztables.UpdateEntityOptions{UpdateMode: aztables.UpdateModeMerge}
	must(table.UpdateEntity(ctx, keys("p", "r").with(object{"B": "3"}).bytes(t), merge))(t)
	equal(t, stored(t, table, "p", "r"), keys("p", "r").with(object{"A": "1", "B": "3"}))
	replace := &aztables.UpdateEntityOptions{UpdateMode: aztables.UpdateModeReplace}
	must(table.UpdateEntity(ctx, keys("p", "r").with(object{"C": "4"}).bytes(t), replace))(t)
	equal(t, stored(t, table, "p", "r"), keys("p", "r").with(object{"C": "4"}))
	for _, options := range []*aztables.UpdateEntityOptions{merge, replace} {
		answer, err := table.UpdateEntity(ctx, keys("p", "missing").bytes(t), options)
		refused(t, answer, err, 404, "ResourceNotFound")
	}
}

func TestEntityIsUpserted(t *testing.T) {
	table, _ := freshTable(t)
	for mode, left := range map[aztables.UpdateMode]object{
		aztables.UpdateModeMerge:   {"A": "1", "B": "2"},
		aztables.UpdateModeReplace: {"B": "2"},
	} {
		row, options := keys("p", string(mode)), &aztables.UpsertEntityOptions{UpdateMode: mode}
		must(table.UpsertEntity(ctx, row.with(object{"A": "1"}).bytes(t), options))(t)
		must(table.UpsertEntity(ctx, row.with(object{"B": "2"}).bytes(t), options))(t)
		equal(t, stored(t, table, "p", string(mode)), row.with(left))
	}
}

func TestEntityWithAStaleETagIsRefused(t *testing.T) {
	table, _ := freshTable(t)
	row := keys("p", "r")
	stale := must(table.AddEntity(ctx, row.with(object{"A": "1"}).bytes(t), nil))(t).ETag
	fresh := must(table.UpsertEntity(ctx, row.with(object{"A": "2"}).bytes(t), nil))(t).ETag
	for _, mode := range []aztables.UpdateMode{aztables.UpdateModeMerge, aztables.UpdateModeReplace} {
		options := &aztables.UpdateEntityOptions{IfMatch: &stale, UpdateMode: mode}
		answer, err := table.UpdateEntity(ctx, row.with(object{"A": "3"}).bytes(t), options)
		refused(t, answer, err, 412, "UpdateConditionNotSatisfied")
	}
	deleted, err := table.DeleteEntity(ctx, "p", "r", &aztables.DeleteEntityOptions{IfMatch: &stale})
	refused(t, deleted, err, 412, "UpdateConditionNotSatisfied")
	equal(t, stored(t, table, "p", "r")["A"], "2")
	options := &aztables.UpdateEntityOptions{IfMatch: &fresh, UpdateMode: aztables.UpdateModeMerge}
	must(table.UpdateEntity(ctx, row.with(object{"A": "4"}).bytes(t), options))(t)
	anything := &aztables.DeleteEntityOptions{IfMatch: to.Ptr(azcore.ETagAny)}
	must(table.DeleteEntity(ctx, "p", "r", anything))(t)
}

func TestEntityTakesOddKeys(t *testing.T) {
	table, _ := freshTable(t)
	for _, key := range []string{
		" ", "O'Neil", "a b+c", "100%", "50%25", "a&b=c;d", "(x)", "č", "日本", "🐎", "$@!*~",
	} {
		must(table.AddEntity(ctx, keys(key, key).with(object{"Key": key}).bytes(t), nil))(t)
		equal(t, stored(t, table, key, key)["Key"], key)
		quoted := strings.ReplaceAll(key, "'", "''")
		equal(t, rowKeys(entities(t, table, where("RowKey eq '"+quoted+"'"))), []string{key})
		must(table.UpsertEntity(ctx, keys(key, key).with(object{"New": "1"}).bytes(t), nil))(t)
		must(table.DeleteEntity(ctx, key, key, nil))(t)
	}
	equal(t, entities(t, table, nil), []object{})
}

func TestEntityWithForbiddenKeysIsRefused(t *testing.T) {
	table, _ := freshTable(t)
	for _, key := range []string{"a/b", "a\\b", "a#b", "a?b", "a\tb"} {
		answer, err := table.AddEntity(ctx, keys(key, "r").bytes(t), nil)
		refused(t, answer, err, 400, "OutOfRangeInput")
	}
	answer, err := table.AddEntity(ctx, keys("p", strings.Repeat("x", 513)).bytes(t), nil)
	refused(t, answer, err, 400, "PropertyValueTooLarge")
}
