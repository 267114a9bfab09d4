package interop

import (
	"fmt"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

func TestQueryFiltersByEveryType(t *testing.T) {
	table, _ := freshTable(t)
	typed := func(row, text string, small, big int, real float64, truth bool, day, guid string, bytes string) {
		must(table.AddEntity(ctx, keys("p", row).with(object{
			"Text": text, "Small": small, "Real": real, "Truth": truth,
			"Big": fmt.Sprint(big), "Big@odata.type": "Edm.Int64",
			"Moment": "2025-11-" + day + "T10:30:15.1234567Z", "Moment@odata.type": "Edm.DateTime",
			"Identity": guid, "Identity@odata.type": "Edm.Guid",
			"Bytes": bytes, "Bytes@odata.type": "Edm.Binary",
		}).bytes(t), nil))(t)
	}
	typed("yes", "O'Neil & co", 7, 1<<40, 2.5, true, "21", "c9da6455-213d-42c9-9a79-3e9149a57833", "Af8=")
	typed("no", "x", 1, 1, 0.5, false, "20", "11111111-213d-42c9-9a79-3e9149a57833", "AQ==")
	for name, value := range map[string]string{
		"Text":     "'O''Neil & co'",
		"Small":    "7",
		"Big":      "1099511627776L",
		"Real":     "2.5",
		"Truth":    "true",
		"Moment":   "datetime'2025-11-21T10:30:15.1234567Z'",
		"Identity": "guid'c9da6455-213d-42c9-9a79-3e9149a57833'",
		"Bytes":    "X'01ff'",
	} {
		equal(t, rowKeys(entities(t, table, where(name+" eq "+value))), []string{"yes"})
		equal(t, rowKeys(entities(t, table, where(name+" ne "+value))), []string{"no"})
		equal(t, rowKeys(entities(t, table, where("not ("+name+" eq "+value+")"))), []string{"no"})
	}
}

func TestQueryFiltersByKeyRanges(t *testing.T) {
	table, _ := freshTable(t)
	insertNumbers(t, table, "p", 300)
	insertNumbers(t, table, "q", 10)
	found := entities(t, table, where("PartitionKey eq 'p' and RowKey ge '00100' and RowKey lt '00103'"))
	equal(t, rowKeys(found), []string{"00100", "00101", "00102"})
	found = entities(t, table, where("Number eq 5 or (PartitionKey eq 'p' and Number lt 2)"))
	equal(t, rowKeys(found), []string{"00000", "00001", "00005", "00005"})
}

func TestQuerySelectsProperties(t *testing.T) {
	table, _ := freshTable(t)
	must(table.AddEntity(ctx, keys("p", "r").with(object{"A": "1", "B": "2"}).bytes(t), nil))(t)
	found := entities(t, table, &aztables.ListEntitiesOptions{Select: to.Ptr("RowKey,B")})
	equal(t, found, []object{{"RowKey": "r", "B": "2"}})
}

func TestQueryPagesThroughManyRowsAndGoesOnFromATokenThatWasKept(t *testing.T) {
	table, _ := freshTable(t)
	insertNumbers(t, table, "p", 2500)
	pages := pagesOf(t, table.NewListEntitiesPager(nil))
	number := 0
	for page, size := range []int{1000, 1000, 500} {
		equal(t, len(pages[page].Entities), size)
		for _, entity := range pages[page].Entities {
			equal(t, fmt.Sprint(read(t, entity)["Number"]), fmt.Sprint(number))
			number++
		}
	}
	equal(t, len(pages), 3)
	rest := entities(t, table, &aztables.ListEntitiesOptions{
		NextPartitionKey: pages[0].NextPartitionKey, NextRowKey: pages[0].NextRowKey,
	})
	equal(t, len(rest), 1500)
	equal(t, rest[0]["RowKey"], "01000")
}

func TestQueryGivesNoMoreThanTopInAPage(t *testing.T) {
	table, _ := freshTable(t)
	insertNumbers(t, table, "p", 25)
	pages := pagesOf(t, table.NewListEntitiesPager(&aztables.ListEntitiesOptions{Top: to.Ptr(int32(10))}))
	sizes := []int{}
	for _, page := range pages {
		sizes = append(sizes, len(page.Entities))
	}
	equal(t, sizes, []int{10, 10, 5})
}

func TestQueryWithAMalformedFilterIsRefused(t *testing.T) {
	table, _ := freshTable(t)
	answer, err := table.NewListEntitiesPager(where("PartitionKey eq")).NextPage(ctx)
	refused(t, answer, err, 400, "InvalidInput")
}
