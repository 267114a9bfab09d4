// The first program of the documentation of @azure/data-tables: its snippets, one after the other.
// It knows nothing of this server. Run it while `npm start` runs.
import { TableClient } from '@azure/data-tables';

const connectionString = 'UseDevelopmentStorage=true';
const client = TableClient.fromConnectionString(connectionString, 'myTable');

// If the table 'myTable' already exists, createTable doesn't throw
await client.createTable();

const testEntity = {
  partitionKey: 'P1',
  rowKey: 'R1',
  foo: 'foo',
  bar: 123,
};
await client.createEntity(testEntity);

let i = 0;
const entities = client.listEntities();
for await (const entity of entities) {
  console.log(`Entity${++i}: PartitionKey: ${entity.partitionKey} RowKey: ${entity.rowKey}`);
}
