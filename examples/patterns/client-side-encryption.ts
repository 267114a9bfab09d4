// Properties that leave the program encrypted and come back as they were.
// Works with the cloud service, Azurite and this server. Run it while `npm start` runs.
import { randomBytes } from 'node:crypto';
import { TableClient } from '@azure/data-tables';
import {
  defineEntity,
  double,
  entitiesOf,
  int32,
  key,
  openTable,
  string,
} from 'tabularium/modeling';
import {
  aesKeyWrapper,
  createDeterministicKey,
  encryptedEquals,
  keyRing,
  withEncryption,
} from 'tabularium/modeling/encryption';

const Employee = defineEntity({
  type: 'Employee',
  properties: {
    department: string(),
    id: int32(),
    lastName: string(),
    email: string().encrypted(),
    salary: double().encrypted().optional(),
  },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(6)}`,
});

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const client = TableClient.fromConnectionString(connection, 'encryptionexample', {
  allowInsecureConnection: true,
});
await client.createTable();
try {
  const table = openTable(client);

  // In production a key of a vault: new CryptographyClient(keyId, credential) is a wrapper as it
  // is.
  const key2024 = aesKeyWrapper('staff-2024', randomBytes(32));
  const current = { wrapper: key2024, algorithm: 'A256KW' } as const;
  const mailKey = await createDeterministicKey('mail-1', current);

  const encrypted = withEncryption(table, {
    keys: keyRing(current),
    deterministic: { properties: ['email'], keys: [mailKey] },
  });
  const employees = entitiesOf(Employee, encrypted);

  const jones = { department: 'Sales', id: 123 };
  await employees.insert({
    ...jones,
    lastName: 'Jones',
    email: 'jonesj@contoso.com',
    salary: 4711,
  });
  await employees.update(jones, (now) => ({ ...now, salary: 5000 }));
  const read = await employees.get(jones);
  console.log(`read: ${read?.lastName}, ${read?.email}, ${read?.salary}`);

  const stored = await table.get({ partitionKey: 'Sales', rowKey: 'empid_000123' });
  for (const [name, { type, value }] of Object.entries(stored?.properties ?? {})) {
    const text = value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value);
    console.log(`stored: ${name} ${type} ${text.slice(0, 60)}`);
  }

  const condition = await encryptedEquals(encrypted, Employee, 'email', 'jonesj@contoso.com');
  const query = employees.query({ partition: { department: 'Sales' }, where: () => condition });
  for (const { lastName } of await query.toArray({ max: 10 })) console.log(`found: ${lastName}`);

  // Rotation: new rows are written with the new key, old ones are found by the id of theirs.
  const key2025 = aesKeyWrapper('staff-2025', randomBytes(32));
  const rotated = withEncryption(table, {
    keys: keyRing({ wrapper: key2025, algorithm: 'A256KW' }, key2024),
    deterministic: { properties: ['email'], keys: [mailKey] },
  });
  let cursor: string | undefined;
  do {
    const page = await table.page({ select: [], ...(cursor === undefined ? {} : { cursor }) });
    for (const row of page.rows) console.log(`${row.rowKey}: ${await rotated.rewrap(row)}`);
    cursor = page.cursor;
  } while (cursor !== undefined);

  // A value that is copied to another row does not decrypt there.
  const note = stored?.properties['salary'];
  await employees.insert({
    ...jones,
    id: 124,
    lastName: 'Smith',
    email: 'smith@contoso.com',
    salary: 1,
  });
  const smith = { partitionKey: 'Sales', rowKey: 'empid_000124' };
  if (note !== undefined) {
    await table.write({
      kind: 'merge',
      row: { ...smith, properties: { salary: note } },
      etag: '*',
    });
  }
  await employees.get({ ...jones, id: 124 }).catch((error: Error) => console.log(error.message));
} finally {
  await client.deleteTable();
}
