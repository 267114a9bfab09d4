package interop

import (
	"fmt"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

func tableNames(t *testing.T, options *aztables.ListTablesOptions) [][]string {
	t.Helper()
	var names [][]string
	for _, page := range pagesOf(t, tableService(t).NewListTablesPager(options)) {
		found := []string{}
		for _, table := range page.Tables {
			found = append(found, *table.Name)
		}
		names = append(names, found)
	}
	return names
}

func withPrefix(prefix string) *string {
	return to.Ptr(fmt.Sprintf("TableName ge '%s' and TableName lt '%sz'", prefix, prefix))
}

func TestTablesAreCreatedListedAndDeleted(t *testing.T) {
	service, prefix := tableService(t), freshName("t")
	for _, letter := range []string{"a", "b", "c"} {
		created := must(service.CreateTable(ctx, prefix+letter, nil))(t)
		equal(t, *created.TableName, prefix+letter)
	}
	options := &aztables.ListTablesOptions{Filter: withPrefix(prefix)}
	equal(t, tableNames(t, options), [][]string{{prefix + "a", prefix + "b", prefix + "c"}})
	must(service.DeleteTable(ctx, prefix+"b", nil))(t)
	equal(t, tableNames(t, options), [][]string{{prefix + "a", prefix + "c"}})
}

func TestTablesComeInPages(t *testing.T) {
	service, prefix := tableService(t), freshName("t")
	for number := range 5 {
		must(service.CreateTable(ctx, fmt.Sprintf("%s%d", prefix, number), nil))(t)
	}
	options := &aztables.ListTablesOptions{Filter: withPrefix(prefix), Top: to.Ptr(int32(2))}
	pages := tableNames(t, options)
	equal(t, []int{len(pages[0]), len(pages[1]), len(pages[2])}, []int{2, 2, 1})
	first := must(service.NewListTablesPager(options).NextPage(ctx))(t)
	options.NextTableName = first.NextTableName
	equal(t, tableNames(t, options), pages[1:])
}

func TestTableThatExistsIsRefused(t *testing.T) {
	table, _ := freshTable(t)
	answer, err := table.CreateTable(ctx, nil)
	refused(t, answer, err, 409, "TableAlreadyExists")
}

func TestTableWithAnIllegalNameIsRefused(t *testing.T) {
	for name, code := range map[string]string{
		"1st":                   "InvalidResourceName",
		"ab":                    "OutOfRangeInput",
		strings.Repeat("a", 64): "OutOfRangeInput",
		"with-dash":             "InvalidResourceName",
		"tables":                "InvalidInput",
	} {
		answer, err := tableService(t).CreateTable(ctx, name, nil)
		refused(t, answer, err, 400, code)
	}
}

func TestTableThatIsMissingIsTold(t *testing.T) {
	missing := tableService(t).NewClient(freshName("t"))
	deleted, err := missing.Delete(ctx, nil)
	refused(t, deleted, err, 404, "ResourceNotFound")
	added, err := missing.AddEntity(ctx, keys("p", "r").bytes(t), nil)
	refused(t, added, err, 404, "TableNotFound")
}

func TestWrongKeyOfTablesIsRefused(t *testing.T) {
	wrong := must(aztables.NewSharedKeyCredential(settings["AccountName"], "d3Jvbmc="))(t)
	service := must(aztables.NewServiceClientWithSharedKey(settings["TableEndpoint"], wrong, nil))(t)
	answer, err := service.GetProperties(ctx, nil)
	refused(t, answer, err, 403, "AuthenticationFailed")
}
