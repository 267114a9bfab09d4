import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import {
  assertExactly,
  isNoStoreError,
  keyOf,
  newLedger,
  write,
  writers,
  type CommitLedger,
} from '../../../test/support/commit-ledger.js';
import { startCuttingProxy } from '../../../test/support/cutting-proxy.js';
import { postgresUnderTest } from '../../../test/support/engine-postgres.js';
import { postgresOfSuite } from '../../../test/support/postgres-of-suite.js';
import { withoutPostgres } from '../../../test/support/postgres-server.js';
import { byLength } from '../../../test/support/run-length.js';
import { it, testMillisMax } from '../../base/conformance/limited-test.js';
import { fasterTimers } from '../../../test/support/quick-timers.js';
import { systemTimers, type Timers } from '../../base/async/timers.js';
import { systemClock } from '../../base/clock.js';
import { StoreUnavailableError } from '../../kv/errors.js';
import type { Store } from '../../kv/store.js';
import { openPostgresStore } from './store.js';

const cuts = byLength({ short: 15, long: 200 });
const troubles = byLength({ short: 12, long: 100 });
const kills = byLength({ short: 3, long: 50 });
/** On a busy machine, a kill or some troubles take seconds. */
const limit = { millisMax: byLength({ short: testMillisMax, long: 15 * testMillisMax }) };
/** So that a stream that stalls is noticed in about a second. */
const haste = 50;
const hastyTimers = fasterTimers(haste, systemTimers);
/** A stream is watched in steps of this time. Whatever else a commit waits for is shorter. */
const stallStepMs = 15_000;
/** Hastens nothing else: connecting and questions for outcomes have their usual time. */
const hastyStalls: Timers = {
  start: (delayMs, callback, argument) =>
    systemTimers.start(delayMs < stallStepMs ? delayMs : delayMs / haste, callback, argument),
};
/** The database ends a transaction that is idle for so long: questions wait for its locks. */
const idleInTransactionMs = 1_000;
/** Reads rows that were acknowledged, one by one and in pages. Returns how many. */
async function readBack(
  store: Store,
  { applied }: CommitLedger,
  signal: AbortSignal,
): Promise<number> {
  let reads = 0;
  while (!signal.aborted) {
    await pause(1);
    try {
      reads += await readLast(store, [...applied].slice(-5));
    } catch (error) {
      // A stream that is broken again and again lets nothing through, and nothing that is wrong.
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
  }
  return reads;
}

async function readLast(
  store: Store,
  known: readonly (readonly [name: string, version: number])[],
): Promise<number> {
  const [oldest] = known;
  if (oldest === undefined) return 0;
  for (const [name, version] of known) {
    const entry = await store.get(keyOf(name));
    assert.deepEqual([entry?.version, String(entry?.value)], [version, name]);
  }
  const options = { limit: 2_000, bytesMax: 1 << 24 };
  const { entries } = await store.range({ start: keyOf(oldest[0]) }, options);
  assert.equal(entries[0]?.version, oldest[1]);
  return known.length + entries.length;
}

void describe('a PostgreSQL engine that loses connections', { skip: withoutPostgres }, () => {
  const server = postgresOfSuite();

  it(`knows of every commit whether it was applied, over ${cuts} cuts`, limit, async () => {
    const url = new URL(server().url);
    await using proxy = await startCuttingProxy(Number(url.port));
    url.port = String(proxy.port);
    const { store, dispose } = await postgresUnderTest({ url: url.href, clock: systemClock });
    const ledger = newLedger();
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

  for (const commitForm of ['function', 'transaction'] as const) {
    const name = `${troubles} delays, halves and stalls of a stream (${commitForm})`;
    it(`answers rightly over ${name}`, limit, () => overTroubles(commitForm));
  }

  async function overTroubles(commitForm: 'function' | 'transaction'): Promise<void> {
    const direct = await postgresUnderTest({ url: server().url, clock: systemClock });
    const url = new URL(server().url);
    await using proxy = await startCuttingProxy(Number(url.port));
    url.port = String(proxy.port);
    const { schema } = direct;
    const store = await openPostgresStore({
      url: url.href,
      schema,
      clock: systemClock,
      commitForm,
      timers: hastyStalls,
      idleInTransactionMs,
    });
    const ledger = newLedger();
    const over = new AbortController();
    const written = write(store, ledger, over.signal);
    const read = readBack(store, ledger, over.signal);
    const kinds = ['delay', 'halve', 'stall', 'cut'] as const;
    for (let trouble = 0; trouble < troubles; trouble += 1) {
      const before = ledger.applied.size;
      while (ledger.applied.size < before + writers) await pause(1);
      const kind = kinds[trouble % kinds.length] ?? 'cut';
      proxy.delay(kind === 'delay' ? 1 + Math.random() * 30 : 0);
      if (kind !== 'delay') proxy[kind]();
    }
    proxy.delay(0);
    over.abort();
    await written;
    assert.ok((await read) > 0);
    assert.deepEqual([...ledger.refused.values()].filter(isNoStoreError), []);
    // Another connection tells, on which nothing happens.
    await assertExactly(direct.store, ledger);
    await store.close();
    await direct.dispose();
  }

  it('frees the locks of a process that is heard of no more (transaction)', async () => {
    const direct = await postgresUnderTest({ url: server().url, clock: systemClock });
    const url = new URL(server().url);
    await using proxy = await startCuttingProxy(Number(url.port));
    url.port = String(proxy.port);
    const store = await openPostgresStore({
      url: url.href,
      schema: direct.schema,
      clock: systemClock,
      commitForm: 'transaction',
      timers: hastyStalls,
      idleInTransactionMs,
    });
    const put = (to: Store, value: string) => {
      const puts = [{ key: keyOf('shared'), value: Buffer.from(value) }];
      return to.commit({ checks: [], puts, deletes: [] });
    };
    assert.ok((await put(store, 'before')).ok);
    // Sent when the slots are locked.
    proxy.stallAt(Buffer.from('last words'));
    const [own, other] = await Promise.all([put(store, 'last words'), put(direct.store, 'other')]);
    assert.ok(own.ok && other.ok);
    const expected = own.version > other.version ? 'last words' : 'other';
    assert.equal(String((await direct.store.get(keyOf('shared')))?.value), expected);
    await store.close();
    await direct.dispose();
  });

  it('closes when the network parts, also while it beats, reads and has written', async () => {
    const direct = await postgresUnderTest({ url: server().url, clock: systemClock });
    const url = new URL(server().url);
    await using proxy = await startCuttingProxy(Number(url.port));
    url.port = String(proxy.port);
    const { schema } = direct;
    const own = { schema, clock: systemClock, timers: hastyTimers, beats: true };
    const store = await openPostgresStore({ url: url.href, ...own });
    const puts = [{ key: keyOf('row'), value: Buffer.from('value') }];
    assert.ok((await store.commit({ checks: [], puts, deletes: [] })).ok);
    assert.notEqual(await store.get(keyOf('row')), undefined);
    proxy.stall();
    await store.close();
    await direct.dispose();
  });

  it('gives up a batch that ends each connection, goes on, and closes', async () => {
    const direct = await postgresUnderTest({ url: server().url, clock: systemClock });
    const url = new URL(server().url);
    await using proxy = await startCuttingProxy(Number(url.port));
    url.port = String(proxy.port);
    const { schema } = direct;
    const store = await openPostgresStore({ url: url.href, schema, clock: systemClock });
    const put = (name: string) => {
      const puts = [{ key: keyOf(name), value: Buffer.from(name) }];
      return store.commit({ checks: [], puts, deletes: [] });
    };
    await put('before');
    proxy.cutAt(Buffer.from('poison'));
    await assert.rejects(put('poison'), StoreUnavailableError);
    assert.ok((await put('after')).ok);
    await store.close();
    assert.equal(await direct.store.get(keyOf('poison')), undefined);
    assert.notEqual(await direct.store.get(keyOf('after')), undefined);
    await direct.dispose();
  });

  it(`loses nothing it has acknowledged over ${kills} kills of the server`, limit, async () => {
    const { store, dispose } = await postgresUnderTest({ url: server().url, clock: systemClock });
    const ledger = newLedger();
    const over = new AbortController();
    const written = write(store, ledger, over.signal);
    for (let round = 0; round < kills; round += 1) {
      const before = ledger.applied.size;
      while (ledger.applied.size < before + writers) await pause(1);
      await server().stop('SIGQUIT');
      await server().start();
    }
    over.abort();
    await written;
    assert.equal(ledger.refused.size, 0);
    await assertExactly(store, ledger);
    await dispose();
  });
});
