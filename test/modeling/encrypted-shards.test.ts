import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  defineEntity,
  int32,
  key,
  plain,
  string,
  ValueError,
  type TableGateway,
} from '../../src/modeling/index.js';
import { keyRing, withEncryption } from '../../src/modeling/encryption/index.js';
import {
  moveShard,
  rangeRouting,
  shardedEntitiesOf,
  shardMapOf,
} from '../../src/modeling/patterns/shard-map/index.js';
import {
  backUpShard,
  reference,
  restoreShard,
  sharded,
  shardMapManagerOf,
  type ShardLocation,
} from '../../src/modeling/patterns/shard-map-manager/index.js';
import { CountingKey } from './support/encryption-keys.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { SizedTable } from './support/sized-table.js';

// Shards that encrypt by themselves: what moves between them is decrypted and encrypted again.

const Patient = defineEntity({
  type: 'Patient',
  properties: { clinic: string(), id: int32(), notes: string().encrypted() },
  partitionKey: (p) => key`${p.clinic}`,
  rowKey: (p) => key`${p.id.padded(4)}`,
});

function encrypted(table: TableGateway): TableGateway {
  return withEncryption(table, { keys: keyRing(new CountingKey('master').kek) });
}

/** Clinics on the shard a, of which none is on b. */
async function world() {
  const [a, b, control] = ['a', 'b', 'control'].map(
    (table) => new SizedTable(new MemoryRows(), { table }),
  ) as [SizedTable, SizedTable, SizedTable];
  const map = shardMapOf({
    name: 'patients',
    control,
    shards: { a: encrypted(a), b: encrypted(b) },
    refreshMs: 0,
    settleMs: 0,
  });
  await map.create(rangeRouting([{ from: '', shard: 'a' }]));
  return { a, b, map, patients: shardedEntitiesOf(Patient, map) };
}

const storedNotes = ({ rows }: MemoryTable) =>
  rows.all.flatMap(({ properties }) => (properties['notes'] ? [properties['notes'].type] : []));

describe('shards that encrypt', () => {
  it('hand over what is encrypted as such', async () => {
    const { b, map, patients } = await world();
    const patient = { clinic: 'north', id: 1, notes: 'secret' };
    await patients.insert(patient);
    await map.apply(moveShard('a', 'b'));
    assert.deepEqual(storedNotes(b), ['Binary']);
    const moved = await patients.get({ clinic: 'north', id: 1 });
    assert.deepEqual(moved && plain(moved), patient);
  });

  it('mend a copy that has the secret in plain', async () => {
    const { b, map, patients } = await world();
    await patients.insert({ clinic: 'north', id: 1, notes: 'secret' });
    await map.start(moveShard('a', 'b'));
    await map.backfill();
    const copy = b.rows.get({ partitionKey: 'north', rowKey: '0001' });
    assert.ok(copy);
    const { partitionKey, rowKey, properties } = copy;
    const { _Encryption, ...others } = properties;
    assert.ok(_Encryption);
    const notes = { type: 'String', value: 'secret' } as const;
    const row = { partitionKey, rowKey, properties: { ...others, notes } };
    await b.write({ kind: 'upsert-replace', row });
    await map.cutOver();
    await map.finish();
    assert.deepEqual(storedNotes(b), ['Binary']);
  });

  it('hand over rows that fill a transaction only once they are encrypted', async () => {
    const { b, map, patients } = await world();
    const notes = 'n'.repeat(32_000);
    for (let id = 0; id < 100; id += 1) await patients.insert({ clinic: 'north', id, notes });
    await map.apply(moveShard('a', 'b'));
    assert.deepEqual(storedNotes(b), Array(100).fill('Binary'));
    assert.ok(Math.max(...b.transactions) < 100, String(b.transactions));
  });

  it('are backed up as they are stored, and never in plain', async () => {
    const { a, patients } = await world();
    await patients.insert({ clinic: 'north', id: 1, notes: 'secret' });
    const opened = async () => {
      for await (const _ of backUpShard(encrypted(a))) continue;
    };
    await assert.rejects(opened, (error) => {
      assert.ok(error instanceof ValueError);
      assert.match(error.message, /\('north', '0001'\).*notes.*without encryption/);
      return true;
    });
    const lines: string[] = [];
    for await (const line of backUpShard(a)) lines.push(line);
    assert.doesNotMatch(lines.join(''), /secret/);
    const restored = new MemoryTable(new MemoryRows(), { table: 'a' });
    await restoreShard(restored, lines);
    const row = await encrypted(restored).get({ partitionKey: 'north', rowKey: '0001' });
    assert.deepEqual(row?.properties['notes'], { type: 'String', value: 'secret' });
  });
});

describe('reference data of shards that encrypt', () => {
  it('are encrypted in every copy', async () => {
    const Price = defineEntity({
      type: 'Price',
      properties: { list: string(), id: int32(), cost: string().encrypted() },
      partitionKey: (p) => key`${p.list}`,
      rowKey: (p) => key`${p.id.padded(4)}`,
    });
    const stored = new Map<string, MemoryTable>();
    const locationOf = (account: string): ShardLocation => ({
      table: (name) => {
        const table = stored.get(`${account} ${name}`) ?? new MemoryTable(new MemoryRows());
        stored.set(`${account} ${name}`, table);
        return encrypted(table);
      },
    });
    const manager = shardMapManagerOf({
      control: new MemoryTable(new MemoryRows()),
      shards: { north: locationOf('north') },
      home: locationOf('home'),
      refreshMs: 0,
      settleMs: 0,
    });
    await manager.addShard('north');
    const map = await manager.create({
      name: 'patients',
      table: 'patients',
      schema: {
        version: 1,
        sharded: [sharded(Patient, 'clinic')],
        reference: [reference(Price, { table: 'prices' })],
      },
      routing: { kind: 'hash', shards: ['north'], slots: 1 },
    });
    const prices = map.reference(Price);
    await prices.entities.insert({ list: 'standard', id: 1, cost: '7' });
    await prices.distribute();
    const copy = stored.get('north prices')?.rows.get({ partitionKey: 'standard', rowKey: '0001' });
    assert.equal(copy?.properties['cost']?.type, 'Binary');
    const here = await prices.on('north');
    assert.equal((await here.get({ list: 'standard', id: 1 }))?.cost, '7');
    assert.deepEqual(await prices.verify(), []);
  });
});
