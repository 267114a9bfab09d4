import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defineEntity, int32, key, string, type TableGateway } from '../../src/modeling/index.js';
import { keyRing, withEncryption } from '../../src/modeling/encryption/index.js';
import { openModel } from '../../src/modeling/model/index.js';
import {
  otherPartition,
  samePartition,
  withIndexes,
} from '../../src/modeling/patterns/indexes/index.js';
import { counter } from '../../src/modeling/model/index.js';
import {
  hashRouting,
  moveShard,
  shardMapOf,
  type ShardMap,
} from '../../src/modeling/patterns/shard-map/index.js';
import { isContent } from '../../src/modeling/patterns/shard-map/shown-rows.js';
import { onBadNetworks, Tally, tries, type BadNetwork } from './support/bad-network.js';
import { CountingKey } from './support/encryption-keys.js';
import { impatientTimers } from './support/impatient-timers.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { costly } from '../support/run-length.js';

// A model over shards that move: indexes here and elsewhere, a count, messages, secrets, and rows
// that an older program has written, on a bad network. The short form has the same seeds each time.

const rounds = { short: 2, long: 60 };

const common = { region: string(), id: int32(), mail: string(), visits: int32().default(0) };
const OldCustomer = defineEntity({
  type: 'Customer',
  properties: { ...common, secret: string().encrypted() },
  partitionKey: (p) => key`${p.region}`,
  rowKey: (p) => key`customer_${p.id.padded(4)}`,
});
const Customer = defineEntity({
  type: 'Customer',
  version: 2,
  properties: { ...common, secret: string().encrypted(), level: int32().default(0) },
  partitionKey: (p) => key`${p.region}`,
  rowKey: (p) => key`customer_${p.id.padded(4)}`,
}).upgrading(OldCustomer, (old) => ({ ...old, level: old.id }));
const Region = defineEntity({
  type: 'Region',
  properties: { region: string(), count: int32().default(0) },
  partitionKey: (p) => key`${p.region}`,
  rowKey: () => key`region`,
});

const names = ['a', 'b', 'c', 'control'] as const;
type Tables = Readonly<Record<(typeof names)[number], MemoryRows>>;
type TableOf = (rows: MemoryRows, name: string) => TableGateway;
const master = new CountingKey('master');

function mapOf(rows: Tables, tableOf: TableOf): ShardMap {
  const table = (name: (typeof names)[number]) => tableOf(rows[name], name);
  return shardMapOf({
    name: 'map',
    control: table('control'),
    shards: { a: table('a'), b: table('b'), c: table('c') },
    refreshMs: 0,
    settleMs: 0,
    takeOverMs: 0,
    timers: impatientTimers,
  });
}

function modelOf(map: ShardMap) {
  return openModel({
    table: withEncryption(map.table, { keys: keyRing(master.kek) }),
    entities: {
      customers: withIndexes(Customer, {
        mail: otherPartition({
          partitionKey: (p) => key`mail_${p.mail}`,
          rowKey: (p) => key`${p.region}_${p.id.padded(4)}`,
          include: ['secret'],
        }),
        level: samePartition({ rowKey: (p) => key`level_${p.level.padded(4)}_${p.id.padded(4)}` }),
      }),
      regions: Region,
    },
    keeps: [
      counter({
        source: Customer,
        view: Region,
        keyOf: ({ region }) => ({ region }),
        measures: { count: () => 1 },
      }),
    ],
    timers: impatientTimers,
  });
}

/** What an older program, without the index by level, has left. */
function oldModelOf(map: ShardMap) {
  return openModel({
    table: withEncryption(map.table, { keys: keyRing(master.kek) }),
    entities: { customers: OldCustomer },
    timers: impatientTimers,
  });
}

async function check(network: BadNetwork): Promise<void> {
  const { random } = network;
  const rows: Tables = {
    a: new MemoryRows(),
    b: new MemoryRows(),
    c: new MemoryRows(),
    control: new MemoryRows(),
  };
  const clean = mapOf(rows, (each, table) => new MemoryTable(each, { table }));
  await clean.create(hashRouting(['a', 'b'], 8));
  const regions = network.pair();
  const customers = regions.flatMap((region) => [1, 2].map((id) => ({ region, id })));
  for (const [index, at] of customers.entries()) {
    const secret = `secret ${index}`;
    await oldModelOf(clean).entities.customers.insert({ ...at, mail: `old${index}@x`, secret });
  }
  const tallies = new Map(customers.map((at) => [at, new Tally()]));
  const writing = () => {
    const process = network.start();
    const model = modelOf(mapOf(rows, process.table));
    return process.untilDeath(() =>
      tries(6, async () => {
        const at = random.pick(customers);
        const mail = `new${random.between(0, 3)}@x`;
        await tallies.get(at)?.add(() =>
          model.entities.customers.update(at, (each) => ({
            ...each,
            visits: each.visits + 1,
            level: each.level + 1,
            mail,
          })),
        );
        if (random.chance(0.3)) await model.drain();
      }),
    );
  };
  const change = moveShard(random.pick(['a', 'b']), 'c');
  const moving = async (): Promise<void> => {
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const process = network.start();
      const map = mapOf(rows, process.table);
      await process.untilDeath(() =>
        tries(1, async () => {
          await map.start(change);
          if (random.chance(0.4)) await map.close(random.pick(['offline', 'read-only']));
          await map.backfill();
          await map.cutOver();
          if (random.chance(0.3)) await map.rollBack();
          else await map.finish();
          await map.cleanUp();
        }),
      );
    }
  };
  await Promise.all([writing(), writing(), moving()]);
  await network.mend();
  const { phase } = await clean.state();
  if (phase === 'copying' || phase === 'handing-over') await clean.cutOver();
  if (phase === 'handing-back') await clean.rollBack();
  else await clean.finish();
  await clean.cleanUp();
  const model = modelOf(clean);
  await model.drain();
  for await (const page of model.rebuild()) void page;
  const drifts: unknown[] = [];
  for await (const drift of model.verify()) drifts.push(drift);
  assert.deepEqual(drifts, []);
  for (const [index, at] of customers.entries()) {
    const found = await model.entities.customers.get(at);
    assert.equal(tallies.get(at)?.fault(found?.visits), undefined, JSON.stringify(at));
    assert.equal(found?.secret, `secret ${index}`);
    assert.equal(found?.level, at.id + (found?.visits ?? 0));
    const byMail = await model.entities.customers.by.mail.get({ mail: found?.mail ?? '', ...at });
    assert.equal(byMail?.secret, found?.secret);
  }
  for (const region of regions) {
    assert.equal((await model.entities.regions.get({ region }))?.count, 2);
  }
  const places = new Map<string, string>();
  for (const name of ['a', 'b', 'c'] as const) {
    for (const row of rows[name].all) {
      assert.ok(!JSON.stringify(row, shown).includes('secret '), row.rowKey);
      if (!isContent(row)) continue;
      const place = `${row.partitionKey} ${row.rowKey}`;
      assert.equal(places.get(place), undefined, place);
      places.set(place, name);
    }
  }
}

function shown(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  return value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value;
}

describe('a model over shards that move, on a bad network', () => {
  it('keeps every change once, what follows from it, and its secrets', costly(), async () => {
    await onBadNetworks(rounds, check);
  });
});
