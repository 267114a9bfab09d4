package interop

import (
	"fmt"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

func TestTransactionAppliesEveryKindOfOperation(t *testing.T) {
	table, _ := freshTable(t)
	for _, row := range []string{"merged", "replaced", "deleted"} {
		must(table.AddEntity(ctx, keys("p", row).with(object{"A": "1"}).bytes(t), nil))(t)
	}
	b := object{"B": "2"}
	must(table.SubmitTransaction(ctx, []aztables.TransactionAction{
		action(t, aztables.TransactionTypeAdd, keys("p", "added").with(b)),
		action(t, aztables.TransactionTypeUpdateMerge, keys("p", "merged").with(b)),
		action(t, aztables.TransactionTypeUpdateReplace, keys("p", "replaced").with(b)),
		action(t, aztables.TransactionTypeInsertMerge, keys("p", "upserted").with(b)),
		action(t, aztables.TransactionTypeInsertReplace, keys("p", "written").with(b)),
		action(t, aztables.TransactionTypeDelete, keys("p", "deleted")),
	}, nil))(t)
	equal(t, entities(t, table, nil), []object{
		keys("p", "added").with(b),
		keys("p", "merged").with(object{"A": "1", "B": "2"}),
		keys("p", "replaced").with(b),
		keys("p", "upserted").with(b),
		keys("p", "written").with(b),
	})
}

func TestTransactionTakes100OperationsAndRefuses101(t *testing.T) {
	table, _ := freshTable(t)
	var actions []aztables.TransactionAction
	for row := range 101 {
		actions = append(actions, action(t, aztables.TransactionTypeAdd, keys("p", fmt.Sprintf("%03d", row))))
	}
	_, err := table.SubmitTransaction(ctx, actions, nil)
	refusedTransaction(t, err, 400, "InvalidInput", 99)
	equal(t, entities(t, table, nil), []object{})
	must(table.SubmitTransaction(ctx, actions[:100], nil))(t)
	equal(t, len(entities(t, table, nil)), 100)
}

func TestTransactionThatFailsSaysWhereAndAppliesNothing(t *testing.T) {
	table, _ := freshTable(t)
	must(table.AddEntity(ctx, keys("p", "taken").bytes(t), nil))(t)
	_, err := table.SubmitTransaction(ctx, []aztables.TransactionAction{
		action(t, aztables.TransactionTypeAdd, keys("p", "new")),
		action(t, aztables.TransactionTypeInsertMerge, keys("p", "newer")),
		action(t, aztables.TransactionTypeAdd, keys("p", "taken")),
	}, nil)
	refusedTransaction(t, err, 409, "EntityAlreadyExists", 2)
	equal(t, rowKeys(entities(t, table, nil)), []string{"taken"})
}

func TestTransactionWithTheSameEntityTwiceIsRefused(t *testing.T) {
	table, _ := freshTable(t)
	_, err := table.SubmitTransaction(ctx, []aztables.TransactionAction{
		action(t, aztables.TransactionTypeInsertMerge, keys("p", "r")),
		action(t, aztables.TransactionTypeDelete, keys("p", "r")),
	}, nil)
	refusedTransaction(t, err, 400, "InvalidDuplicateRow", 1)
}

func TestTransactionWithAStaleETagIsRefused(t *testing.T) {
	table, _ := freshTable(t)
	row := keys("p", "r")
	stale := must(table.AddEntity(ctx, row.with(object{"A": "1"}).bytes(t), nil))(t).ETag
	must(table.UpsertEntity(ctx, row.with(object{"A": "2"}).bytes(t), nil))(t)
	conditional := action(t, aztables.TransactionTypeUpdateReplace, row)
	conditional.IfMatch = &stale
	_, err := table.SubmitTransaction(ctx, []aztables.TransactionAction{
		action(t, aztables.TransactionTypeAdd, keys("p", "new")), conditional,
	}, nil)
	refusedTransaction(t, err, 412, "UpdateConditionNotSatisfied", 1)
	equal(t, entities(t, table, nil), []object{row.with(object{"A": "2"})})
}
