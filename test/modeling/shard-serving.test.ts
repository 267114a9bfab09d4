import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isRecord } from '../../src/base/record.js';
import { defineEntity, key, string } from '../../src/modeling/index.js';
import {
  reference,
  type ShardMapManager,
} from '../../src/modeling/patterns/shard-map-manager/index.js';
import { crashEverywhere, type Doomed } from './support/crash-points.js';
import { filledShards, orderSchema, type MemoryShards } from './support/memory-shards.js';
import { MemoryTable } from './support/memory-table.js';
import { notesOn } from './support/notes.js';
import { wrappedMethods } from './support/wrapped-methods.js';

// What a manager does before and after the row of a shard or a map is written, while other programs
// change what the shard should have; and the same call again when the first was killed there.

const notes = notesOn('north');

const Country = defineEntity({
  type: 'Country',
  properties: { code: string(), name: string() },
  partitionKey: () => key`all`,
  rowKey: (p) => key`${p.code}`,
});
const withCountries = {
  version: 2,
  sharded: orderSchema.sharded,
  reference: [reference(Country, { table: 'countries' })],
} as const;

/** A program that may be killed, before whose first write another one does its work. */
function interrupted(
  shards: MemoryShards,
  doomed: Doomed,
  meanwhile: () => Promise<unknown>,
): ShardMapManager {
  let isFirst = true;
  const hooked = <T extends object>(port: T): T =>
    wrappedMethods(port, async (method, send) => {
      if (method === 'write' && isFirst) {
        isFirst = false;
        await meanwhile();
      }
      return send();
    });
  return shards.manager((port) => doomed.wrap(hooked(port)));
}

/** Unless the other program has: `create` of a map that is there makes its tables again as well. */
async function createNotes(manager: ShardMapManager): Promise<void> {
  if ((await manager.maps()).length === 1) await manager.create(notes);
}

describe('a call of the shard map manager that was killed after its row was written', () => {
  it('makes the tables of a map of then when it is repeated: a shard that is added', async () => {
    await crashEverywhere<MemoryShards>({
      prepare: async () => {
        const { shards } = await filledShards();
        await shards.manager().dropShard('west');
        return shards;
      },
      run: (shards, doomed) =>
        interrupted(shards, doomed, () => shards.manager().create(notes)).addShard('west'),
      recover: async (shards) => {
        await createNotes(shards.manager());
        await shards.manager().addShard('west');
      },
      check: (shards) => {
        assert.ok(shards.created.has('west notes'));
        return Promise.resolve();
      },
    });
  });

  it('makes the tables of a map of then when it is repeated: a shard that comes back', async () => {
    const online = { status: 'online' } as const;
    await crashEverywhere<MemoryShards>({
      prepare: async () => {
        const { shards } = await filledShards();
        await shards.manager().setShard('south', { status: 'offline' });
        return shards;
      },
      run: (shards, doomed) =>
        interrupted(shards, doomed, () => shards.manager().create(notes)).setShard('south', online),
      recover: async (shards) => {
        await createNotes(shards.manager());
        await shards.manager().setShard('south', online);
      },
      check: (shards) => {
        assert.ok(shards.created.has('south notes'));
        return Promise.resolve();
      },
    });
  });

  it('makes the tables of a shard of then when it is repeated: a map that is upgraded', async () => {
    const back = async (shards: MemoryShards): Promise<void> => {
      const { status } = (await shards.manager().shards())[1] ?? {};
      if (status === 'offline') await shards.manager().setShard('south', { status: 'online' });
    };
    await crashEverywhere<MemoryShards>({
      prepare: async () => {
        const { shards } = await filledShards();
        await shards.manager().setShard('south', { status: 'offline' });
        return shards;
      },
      run: (shards, doomed) =>
        interrupted(shards, doomed, () => back(shards)).upgrade('orders', withCountries),
      recover: async (shards) => {
        await back(shards);
        await shards.manager().upgrade('orders', withCountries);
      },
      check: (shards) => {
        assert.ok(shards.created.has('south countries'));
        return Promise.resolve();
      },
    });
  });
});

/** North and south with a copy of a country, which the map has as reference data. */
async function withReferences() {
  const { shards } = await filledShards();
  const map = await shards.manager().upgrade('orders', withCountries);
  const countries = map.reference(Country);
  await countries.entities.insert({ code: 'de', name: 'Germany' });
  await countries.distribute();
  const rename = (name: string) =>
    countries.entities.merge({ code: 'de' }, { name }, { ifMatch: 'any' });
  const nameOn = async (shard: string) =>
    (await (await countries.on(shard)).get({ code: 'de' }))?.name;
  return { shards, countries, rename, nameOn };
}

describe('a shard that comes back', () => {
  it('has the rows of the home account though it has its version already', async () => {
    const { shards, countries, rename, nameOn } = await withReferences();
    const before = shards.rows('home', 'countries').copy();
    await rename('Allemagne');
    await countries.distribute();
    await shards.manager().setShard('south', { status: 'offline' });
    // Two changes of an earlier copy are as many as those that the shard knows.
    shards.restore('home', 'countries', before);
    const restored = await shards.manager().open('orders', withCountries);
    const { entities } = restored.reference(Country);
    await entities.merge({ code: 'de' }, { name: 'Deutschland' }, { ifMatch: 'any' });
    await shards.manager().setShard('south', { status: 'online' });
    assert.equal(await nameOn('south'), 'Deutschland');
    assert.deepEqual(
      (await restored.reference(Country).verify()).map(({ shard }) => shard),
      ['north', 'west'],
    );
  });

  it('has what was distributed after it was brought up to date and before it served', async () => {
    const { shards, countries, rename, nameOn } = await withReferences();
    await shards.manager().setShard('south', { status: 'offline' });
    const hooked = shards.manager((port) =>
      wrappedMethods(port, async (method, send, [write]) => {
        const row = isRecord(write) ? write['row'] : undefined;
        if (method === 'write' && isRecord(row) && row['rowKey'] === 'shard_south') {
          await rename('Allemagne');
          await countries.distribute();
        }
        return send();
      }),
    );
    await hooked.setShard('south', { status: 'online' });
    assert.equal(await nameOn('south'), 'Allemagne');
  });
});

describe('reference data', () => {
  it('are brought to the other shards when one fails, and the failure is thrown', async () => {
    const { shards, rename, nameOn } = await withReferences();
    await rename('Allemagne');
    const away = new Error('north is away');
    const failing = shards.manager((port) => {
      if (!(port instanceof MemoryTable)) return port;
      if (port.rows !== shards.rows('north', 'countries')) return port;
      return wrappedMethods(port, () => Promise.reject(away));
    });
    const map = await failing.open('orders', withCountries);
    await assert.rejects(map.reference(Country).distribute(), away);
    assert.equal(await nameOn('north'), 'Germany');
    assert.equal(await nameOn('south'), 'Allemagne');
  });
});
