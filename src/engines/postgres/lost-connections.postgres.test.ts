import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startCuttingProxy } from '../../../test/support/cutting-proxy.js';
import { postgresUnderTest } from '../../../test/support/engine-postgres.js';
import {
  startPostgres,
  withoutPostgres,
  type PostgresServer,
} from '../../../test/support/postgres-server.js';
import { byLength } from '../../../test/support/run-length.js';
import { it } from '../../base/conformance/limited-test.js';
import { systemClock } from '../../base/clock.js';
import { invariant } from '../../base/invariant.js';
import { decodeCounter } from '../../kv/counter.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import type { Store } from '../../kv/store.js';

const cuts = byLength({ short: 15, long: 200 });
const writers = 16;
const prefix = partitionPrefix('tables', 'account', 1, 'partition');
const counter = Buffer.concat([prefix, Buffer.from('count')]);

function keyOf(name: string): Buffer {
  return Buffer.concat([prefix, Buffer.from(`row ${name}`)]);
}

interface Ledger {
  readonly applied: Map<string, number>;
  readonly refused: Map<string, unknown>;
}

/** Inserts rows, each with an addition, until it is told to end. */
async function write(store: Store, ledger: Ledger, signal: AbortSignal): Promise<void> {
  let serial = 0;
  const one = async (writer: number): Promise<void> => {
    while (!signal.aborted) {
      serial += 1;
      const name = `${writer} ${serial}`;
      const key = keyOf(name);
      try {
        const result = await store.commit({
          checks: [{ key, version: 'absent' }],
          puts: [{ key, value: Buffer.from(name) }],
          deletes: [],
          adds: [{ key: counter, delta: 1 }],
        });
        // Nobody else writes the row: were a commit applied twice, its check would fail.
        assert.ok(result.ok, `${name} was there already`);
        ledger.applied.set(name, result.version);
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        ledger.refused.set(name, error);
      }
    }
  };
  await Promise.all(Array.from({ length: writers }, (_, writer) => one(writer)));
}

async function assertExactly(store: Store, { applied, refused }: Ledger): Promise<void> {
  for (const [name, version] of applied) {
    assert.equal((await store.get(keyOf(name)))?.version, version, `${name} is lost`);
  }
  for (const [name, error] of refused) {
    assert.equal(await store.get(keyOf(name)), undefined, `${name} was refused: ${String(error)}`);
  }
  const count = await store.get(counter);
  assert.equal(count === undefined ? 0 : decodeCounter(count.value), applied.size);
}

void describe('a PostgreSQL engine that loses connections', { skip: withoutPostgres }, () => {
  let server: PostgresServer | undefined;
  before(async () => {
    server = await startPostgres();
  });
  after(() => server?.dispose());

  it(`knows of every commit whether it was applied, over ${cuts} cuts`, async () => {
    invariant(server !== undefined, 'the server has been started');
    const url = new URL(server.url);
    await using proxy = await startCuttingProxy(Number(url.port));
    url.port = String(proxy.port);
    const { store, dispose } = await postgresUnderTest({ url: url.href, clock: systemClock });
    const ledger: Ledger = { applied: new Map(), refused: new Map() };
    const over = new AbortController();
    const written = write(store, ledger, over.signal);
    for (let cut = 0; cut < cuts; cut += 1) {
      const before = ledger.applied.size;
      while (ledger.applied.size < before + writers) await pause(1);
      await pause(Math.random() * 8);
      proxy.cut();
    }
    over.abort();
    await written;
    assert.ok(ledger.applied.size >= cuts * writers);
    assert.equal(ledger.refused.size, 0);
    await assertExactly(store, ledger);
    await dispose();
  });

  it('loses nothing it has acknowledged when the server is killed, and goes on', async () => {
    invariant(server !== undefined, 'the server has been started');
    const { store, dispose } = await postgresUnderTest({ url: server.url, clock: systemClock });
    const ledger: Ledger = { applied: new Map(), refused: new Map() };
    const over = new AbortController();
    const written = write(store, ledger, over.signal);
    for (let round = 0; round < byLength({ short: 3, long: 50 }); round += 1) {
      const before = ledger.applied.size;
      while (ledger.applied.size < before + writers) await pause(1);
      await server.stop('SIGQUIT');
      await server.start();
    }
    over.abort();
    await written;
    assert.equal(ledger.refused.size, 0);
    await assertExactly(store, ledger);
    await dispose();
  });
});
