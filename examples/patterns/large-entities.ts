// Values of any size in entities: in parts, compressed, in rows beside the entity, in blobs.
// Works with the cloud service, Azurite and this server beside a blob service.
import { randomBytes } from 'node:crypto';
import { TableClient } from '@azure/data-tables';
import { BlobServiceClient } from '@azure/storage-blob';
import { defineEntity, entitiesOf, key, openTable, string } from 'tabularium/modeling';
import {
  openValueBlobs,
  largeBinary,
  largePropertiesOf,
  largeString,
  verifyLargeValues,
  withLargeValues,
} from 'tabularium/modeling/large-entities';

const Report = defineEntity({
  type: 'Report',
  properties: {
    department: string(),
    name: string(),
    text: largeString(),
    photo: largeBinary().named('Photo').optional(),
  },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`report_${p.name}`,
});

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const client = TableClient.fromConnectionString(connection, 'largeexample', {
  allowInsecureConnection: true,
});
const container = BlobServiceClient.fromConnectionString(connection).getContainerClient(
  `large-example-${process.pid}`,
);
await client.createTable();
await container.create();
try {
  const requests: string[] = [];
  const table = openTable(client, { observer: ({ kind }) => requests.push(kind) });
  const large = withLargeValues(table, {
    properties: largePropertiesOf(Report),
    blobs: openValueBlobs(container),
    locations: { Photo: { at: 'blob', contentType: 'image/jpeg', address: true } },
  });
  const reports = entitiesOf(Report, large);

  const noise = (bytes: number) => randomBytes(bytes / 2).toString('hex');
  const texts = {
    short: 'a few words',
    long: noise(200_000),
    longer: 'the same words again and again. '.repeat(100_000),
    huge: noise(4_000_000),
    enormous: noise(12_000_000),
  };
  for (const [name, text] of Object.entries(texts)) {
    requests.length = 0;
    await reports.insert({ department: 'Sales', name, text });
    const written = requests.splice(0).join('+');
    const read = await reports.get({ department: 'Sales', name });
    const manifest = await large.describe({ partitionKey: 'Sales', rowKey: `report_${name}` });
    const { at = 'a property', encoding = 'identity' } = manifest?.values['text'] ?? {};
    console.log(`${name}: ${text.length} characters in ${at}, ${encoding}; ${written}`);
    if (read?.text !== text) throw new Error(`${name} did not come back`);
  }

  // The photo is always in a blob, as it is: its address can be given to whoever shows it.
  const photo = randomBytes(50_000);
  await reports.update({ department: 'Sales', name: 'short' }, (now) => ({ ...now, photo }));
  const short = await reports.get({ department: 'Sales', name: 'short' });
  // Any client finds the address where the value was.
  const row = await client.getEntity<{ Photo: string }>('Sales', 'report_short');
  console.log(`${short?.photo?.length} bytes at ${new URL(row.Photo).pathname.slice(0, 40)}…`);

  const report = await verifyLargeValues(large, { repair: true });
  console.log(
    `${report.entities} entities with large values, ${report.blobs} blobs, ` +
      `${report.abandonedBlobs.length} abandoned, ${report.unreadable.length} unreadable`,
  );
  await reports.delete({ department: 'Sales', name: 'enormous' }, { ifMatch: 'any' });
  console.log(`blobs after a delete: ${(await verifyLargeValues(large)).blobs}`);
} finally {
  await client.deleteTable();
  await container.delete();
}
