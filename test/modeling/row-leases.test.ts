import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { manualClock, type ManualClock } from '../../src/base/clock.js';
import { systemTimers, type Timers } from '../../src/base/async/timers.js';
import {
  defineEntity,
  int32,
  key,
  LeaseLostError,
  RequestError,
  string,
  TransactionFailedError,
  type TableGateway,
} from '../../src/modeling/index.js';
import {
  LeaseHeldError,
  rowLeasesOf,
  type RowLeasesOptions,
} from '../../src/modeling/patterns/row-leases/index.js';
import { costly } from '../support/run-length.js';
import { crashEverywhere } from './support/crash-points.js';
import { LostAnswers } from './support/lost-answers.js';
import { startTables } from './support/observed-tables.js';
import { wrappedMethods } from './support/wrapped-methods.js';

const started = await startTables();
after(() => started[Symbol.asyncDispose]());

const Account = defineEntity({
  type: 'Account',
  properties: { bank: string(), id: string(), amount: int32().default(0) },
  partitionKey: (p) => key`${p.bank}`,
  rowKey: (p) => key`${p.id}`,
});
const at = { bank: 'north', id: 'a1' };

function leasesOf(table: TableGateway, options: Partial<RowLeasesOptions> = {}) {
  return rowLeasesOf(Account, table, {
    holder: 'first',
    pollMs: { first: 1, last: 5 },
    ...options,
  });
}

/** A clock that is ahead of the machine's and stands still. */
function ahead(milliseconds: number) {
  return manualClock((Date.now() + milliseconds) * 1000);
}

/** Timers that pass at once, by which the clock advances. */
function passing(clock: ManualClock): Timers {
  return {
    start: (delayMs, callback, argument) => {
      clock.advanceMicros(delayMs * 1000);
      return started.hurriedTimers.start(0, callback, argument);
    },
  };
}

/** The answer to a request that was, or is yet to be, applied. */
function timedOut(): RequestError {
  const request = { table: 'leased', operation: 'update' as const };
  return new RequestError('the service timed out', {
    status: 500,
    code: 'OperationTimedOut',
    request,
  });
}

/** A gateway whose requests of one kind go through `call`, with their number, from 1. */
function intercepted(
  gateway: TableGateway,
  kind: 'write' | 'transact',
  call: (count: number, send: () => unknown) => unknown,
): TableGateway {
  let count = 0;
  return wrappedMethods(gateway, (name, send) =>
    name === kind ? call((count += 1), send) : send(),
  );
}

async function withAccount() {
  const table = await started.newTable();
  const leases = leasesOf(table.gateway);
  await leases.entities.insert(at);
  table.takeKinds();
  return { ...table, leases };
}

describe('a lease of a row', () => {
  it('makes the requests that it says', async () => {
    const { leases, takeKinds } = await withAccount();
    const lease = await leases.acquire(at);
    assert.deepEqual(takeKinds(), ['point-read', 'insert']);
    await lease.renew();
    assert.deepEqual(takeKinds(), ['update']);
    await lease.update((account) => ({ ...account, amount: 1 }));
    assert.deepEqual(takeKinds(), ['point-read', 'transaction']);
    await lease.transact((writes) => writes.merge(Account, at, { amount: 2 }, { ifMatch: 'any' }));
    assert.deepEqual(takeKinds(), ['transaction']);
    await lease.release();
    assert.deepEqual(takeKinds(), ['update']);
    const again = await leases.acquire(at);
    assert.deepEqual(takeKinds(), ['point-read', 'update']);
    assert.equal((await leases.holderOf(at))?.fenceToken, again.fenceToken);
    assert.deepEqual(takeKinds(), ['point-read']);
    assert.equal(await leases.break(at), true);
    assert.deepEqual(takeKinds(), ['point-read', 'update']);
    assert.equal(await leases.break(at), false);
  });

  it('is refused to others with its holder and the end of its term', async () => {
    const { gateway, leases } = await withAccount();
    const lease = await leases.acquire(at);
    const other = leasesOf(gateway, { holder: 'second' });
    const held = await other.acquire(at).catch((error: unknown) => error);
    assert.ok(held instanceof LeaseHeldError);
    assert.equal(held.holder, 'first');
    assert.ok(held.until.toDate().getTime() > Date.now() + 20_000);
    await lease.release();
    assert.equal((await other.acquire(at)).fenceToken, lease.fenceToken + 1n);
  });

  it('is not seen by queries and survives a replacement of the entity', async () => {
    const { leases } = await withAccount();
    const lease = await leases.acquire(at);
    await leases.entities.upsertReplace({ ...at, amount: 5 });
    const found = await leases.entities.query({ partition: { bank: 'north' } }).toArray({ max: 9 });
    assert.deepEqual(
      found.map(({ id }) => id),
      ['a1'],
    );
    await lease.renew();
  });

  it('can be of an entity that is not there yet', async () => {
    const { gateway } = await started.newTable();
    const leases = leasesOf(gateway);
    const lease = await leases.acquire(at);
    await lease.transact((writes) => writes.insert(Account, at));
    assert.equal((await leases.entities.get(at))?.amount, 0);
    await assert.rejects(
      lease.transact((writes) => writes.insert(Account, at)),
      (error) => error instanceof TransactionFailedError && error.index === 0,
    );
    await lease.renew();
  });

  it('is taken over when its term has ended, and then fences the old holder off', async () => {
    const { gateway, leases } = await withAccount();
    const lease = await leases.acquire(at);
    // The term is 30 s and clocks may differ by 5 s.
    await assert.rejects(leasesOf(gateway, { clock: ahead(34_000) }).acquire(at), LeaseHeldError);
    const other = leasesOf(gateway, { holder: 'second', clock: ahead(36_000) });
    const taken = await other.acquire(at);
    assert.ok(taken.fenceToken > lease.fenceToken);
    const late = lease.update((account) => ({ ...account, amount: 99 }));
    await assert.rejects(late, { name: 'LeaseLostError', message: /'second' has it/ });
    await assert.rejects(
      lease.transact((writes) => writes.merge(Account, at, { amount: 98 }, { ifMatch: 'any' })),
      LeaseLostError,
    );
    await assert.rejects(lease.renew(), LeaseLostError);
    await assert.rejects(lease.release(), LeaseLostError);
    await taken.update((account) => ({ ...account, amount: account.amount + 1 }));
    assert.equal((await leases.entities.get(at))?.amount, 1);
    await taken.release();
  });

  it('is found to have ended only by watching it when no clock is trusted', async () => {
    const { gateway, leases } = await withAccount();
    const clock = ahead(3_600_000);
    await leases.acquire(at);
    const wary = leasesOf(gateway, {
      clock,
      clockSkewMs: Infinity,
      timers: passing(clock),
      pollMs: { first: 5_000, last: 5_000 },
    });
    await assert.rejects(wary.acquire(at), LeaseHeldError);
    await assert.rejects(wary.acquire(at, { waitMs: 25_000 }), LeaseHeldError);
    assert.equal((await wary.acquire(at, { waitMs: 40_000 })).fenceToken, 2n);
  });

  it('that is renewed while it is watched is not taken', async () => {
    const { gateway, leases } = await withAccount();
    const lease = await leases.acquire(at);
    const clock = manualClock();
    const wary = leasesOf(gateway, {
      clock,
      clockSkewMs: Infinity,
      timers: {
        start: (delayMs, callback, argument) => {
          clock.advanceMicros(delayMs * 1000);
          const renewed = async (): Promise<void> => {
            await lease.renew();
            callback(argument);
          };
          void renewed();
          return { close: () => undefined };
        },
      },
      pollMs: { first: 10_000, last: 10_000 },
    });
    await assert.rejects(wary.acquire(at, { waitMs: 120_000 }), LeaseHeldError);
  });

  it('that is broken is lost to its holder', async () => {
    const { leases } = await withAccount();
    const lease = await leases.acquire(at);
    await leases.break(at);
    await assert.rejects(lease.renew(), /broken/);
    assert.equal(await leases.holderOf(at), undefined);
    assert.equal((await leases.acquire(at)).fenceToken, lease.fenceToken + 1n);
  });

  it('lets writers without it change the entity, and update again after them', async () => {
    const { leases } = await withAccount();
    const lease = await leases.acquire(at);
    let runs = 0;
    const updated = await lease.update(async (account) => {
      runs += 1;
      if (runs === 1) await leases.entities.merge(at, { amount: 10 }, { ifMatch: 'any' });
      return { ...account, amount: account.amount + 1 };
    });
    assert.equal(updated.amount, 11);
    assert.equal(runs, 2);
    await leases.entities.replace({ ...updated, amount: 12 });
  });

  it('waits longer and longer between updates, and ends when others are always faster', async () => {
    const { gateway, leases } = await withAccount();
    const waits: number[] = [];
    const timers: Timers = {
      start: (delayMs, callback, argument) => {
        waits.push(delayMs);
        return started.hurriedTimers.start(0, callback, argument);
      },
    };
    let runs = 0;
    const lease = await leasesOf(gateway, { timers }).acquire(at);
    const updated = lease.update(async (account) => {
      runs += 1;
      await leases.entities.merge(at, { amount: runs }, { ifMatch: 'any' });
      return { ...account, amount: 0 };
    });
    await assert.rejects(updated, { name: 'ContentionError', message: /faster at all of 24/ });
    assert.equal(runs, 24);
    assert.equal(waits.length, 23);
    assert.ok(Math.max(...waits.slice(12)) > Math.max(...waits.slice(0, 3)), waits.join(' '));
    assert.ok(lease.remainingMs > 0);
  });

  it('recognises its own success when answers are lost', async () => {
    const { client, gateway } = await started.newTable();
    const answers = new LostAnswers();
    answers.install(client);
    const leases = leasesOf(gateway);
    await leases.entities.insert(at);
    answers.lose(1, 'POST');
    const lease = await leases.acquire(at);
    assert.equal(lease.fenceToken, 1n);
    answers.lose(1, 'PUT');
    await lease.renew();
    answers.lose(1, 'POST');
    await lease.update((account) => ({ ...account, amount: account.amount + 1 }));
    answers.lose(1, 'POST');
    await lease.transact((writes) => writes.delete(Account, at, { ifMatch: 'any' }));
    answers.lose(1, 'PUT');
    await lease.release();
    assert.equal(await leases.holderOf(at), undefined);
    assert.equal(await leases.entities.get(at), undefined);
  });

  it('makes a change once though an attempt that seemed lost is applied late', async () => {
    const { gateway } = await withAccount();
    let late: () => unknown = () => undefined;
    const slow = intercepted(gateway, 'transact', async (count, send) => {
      if (count === 1) {
        late = send;
        throw timedOut();
      }
      if (count === 2) await late();
      return send();
    });
    const lease = await leasesOf(slow).acquire(at);
    let changes = 0;
    await lease.update((account) => {
      changes += 1;
      return { ...account, amount: account.amount + 1 };
    });
    assert.equal(changes, 1);
    assert.equal((await leasesOf(gateway).entities.get(at))?.amount, 1);
    await lease.release();
  });

  it('has its whole term when it was taken after a wait', async () => {
    const { gateway, leases } = await withAccount();
    const clock = manualClock();
    const overtaken = intercepted(gateway, 'write', async (count, send) => {
      if (count === 1) await leases.acquire(at);
      return send();
    });
    const lease = await leasesOf(overtaken, {
      clock,
      clockSkewMs: Infinity,
      timers: passing(clock),
      pollMs: { first: 5_000, last: 5_000 },
    }).acquire(at, { waitMs: 60_000 });
    assert.ok(clock.monotonicMs() > 30_000);
    assert.equal(lease.fenceToken, 2n);
    assert.equal(lease.remainingMs, 30_000);
  });

  it('whose answer was lost counts its term from its first send', async () => {
    const { gateway } = await withAccount();
    const clock = manualClock();
    const slow = intercepted(gateway, 'write', async (count, send) => {
      if (count === 2) await send();
      clock.advanceMicros(4_000_000);
      if (count <= 2) throw timedOut();
      return send();
    });
    const leases = leasesOf(slow, { clock, timers: started.hurriedTimers });
    const lease = await leases.acquire(at);
    assert.equal(lease.fenceToken, 1n);
    assert.equal(lease.remainingMs, 30_000 - 2 * 4_000);
    await lease.renew();
    assert.equal(lease.remainingMs, 30_000 - 4_000);
  });

  it('is given up when the service fails each write, or the wait is ended', async () => {
    const { gateway } = await withAccount();
    let sent = 0;
    const full = intercepted(gateway, 'write', () => {
      sent += 1;
      throw timedOut();
    });
    const leases = leasesOf(full, { timers: started.hurriedTimers });
    await assert.rejects(leases.acquire(at, { waitMs: 60_000 }), { code: 'OperationTimedOut' });
    assert.equal(sent, 5);
    const signal = AbortSignal.abort(new Error('enough'));
    await assert.rejects(leases.acquire(at, { signal }), /enough/);
    assert.equal(sent, 6);
  });

  it('that was broken is told so though the answer was lost', async () => {
    const { gateway, leases } = await withAccount();
    await leases.acquire(at);
    const repeating = intercepted(gateway, 'write', async (count, send) => {
      // The client repeats a request that was applied, and gets the 412 that its success caused.
      if (count === 1) await send();
      return send();
    });
    assert.equal(await leasesOf(repeating).break(at), true);
    assert.equal(await leases.holderOf(at), undefined);
  });

  it('that was granted after the broken one stays', async () => {
    const { gateway, leases } = await withAccount();
    await leases.acquire(at);
    let next: Awaited<ReturnType<typeof leases.acquire>> | undefined;
    const repeating = intercepted(gateway, 'write', async (count, send) => {
      if (count === 1) {
        await send();
        next = await leasesOf(gateway, { holder: 'next' }).acquire(at);
      }
      return send();
    });
    assert.equal(await leasesOf(repeating).break(at), true);
    assert.ok(next !== undefined);
    await next.renew();
    assert.equal((await leases.holderOf(at))?.holder, 'next');
  });

  it('is refused for what has no room or no type', async () => {
    const { gateway, takeKinds } = await started.newTable();
    const long = leasesOf(gateway).acquire({ bank: 'north', id: 'x'.repeat(506) });
    await assert.rejects(long, { name: 'ValueError', message: /no room/ });
    assert.throws(() => leasesOf(gateway, { durationMs: 10 }), { name: 'ValueError' });
    assert.throws(() => leasesOf(gateway, { clockSkewMs: -1 }), { name: 'ValueError' });
    const Untyped = defineEntity({
      type: 'Untyped',
      properties: { id: string() },
      partitionKey: (p) => key`${p.id}`,
      rowKey: () => key`row`,
      system: { type: false },
    });
    assert.throws(() => rowLeasesOf(Untyped, gateway, { holder: 'x' }), /stores no type/);
    assert.deepEqual(takeKinds(), []);
  });
});

describe('work under a lease', () => {
  it('is done by one of 16 at a time', costly(), async () => {
    const { gateway, leases } = await withAccount();
    let inside = 0;
    const tokens: bigint[] = [];
    await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        leasesOf(gateway, { holder: `worker ${index}` }).withLease(
          at,
          async (lease) => {
            inside += 1;
            assert.equal(inside, 1, 'two hold the lease');
            const account = await leases.entities.get(at);
            // Without a condition of its own: only the lease protects the write.
            await lease.transact((writes) =>
              writes.merge(Account, at, { amount: (account?.amount ?? 0) + 1 }, { ifMatch: 'any' }),
            );
            tokens.push(lease.fenceToken);
            inside -= 1;
          },
          { waitMs: 60_000 },
        ),
      ),
    );
    assert.equal((await leases.entities.get(at))?.amount, 16);
    assert.deepEqual(
      tokens,
      Array.from({ length: 16 }, (_, index) => BigInt(index + 1)),
    );
  });

  it('ends with its signal when the lease is broken, and gives back what it still has', async () => {
    const { gateway, leases } = await withAccount();
    const hurried = leasesOf(gateway, {
      timers: {
        start: (_, callback, argument) => started.hurriedTimers.start(0, callback, argument),
      },
    });
    const work = hurried.withLease(at, async (_, signal) => {
      await leases.break(at);
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      throw signal.reason;
    });
    await assert.rejects(work, LeaseLostError);
    await assert.rejects(
      leases.withLease(at, () => Promise.reject(new Error('no luck'))),
      /no luck/,
    );
    assert.equal(await leases.holderOf(at), undefined);
  });

  it('is renewed while it goes on', async () => {
    const { gateway } = await withAccount();
    const renewals: unknown[] = [];
    const observed: TableGateway = {
      table: gateway.table,
      get: (key, select) => gateway.get(key, select),
      page: (query) => gateway.page(query),
      transact: (writes) => gateway.transact(writes),
      write: (write) => {
        if (write.kind === 'replace') renewals.push(write);
        return gateway.write(write);
      },
    };
    const hurried = leasesOf(observed, { timers: started.hurriedTimers });
    await hurried.withLease(at, async (_, signal) => {
      while (renewals.length < 3) await new Promise((resolve) => setImmediate(resolve));
      assert.equal(signal.aborted, false);
    });
  });

  it('that is killed anywhere leaves a lease that others get after its term', async () => {
    const requests = await crashEverywhere<TableGateway>({
      prepare: async () => {
        const { gateway } = await started.newTable();
        await leasesOf(gateway).entities.insert(at);
        return gateway;
      },
      run: (table, doomed) =>
        // Timers of the killed process are never closed.
        leasesOf(doomed.wrap(table), { timers: systemTimers }).withLease(at, (lease) =>
          lease.update((account) => ({ ...account, amount: account.amount + 1 })),
        ),
      recover: async (table, doomed) => {
        const leases = leasesOf(doomed.wrap(table), { clock: ahead(60_000) });
        await leases.withLease(at, (lease) =>
          lease.update((account) => ({ ...account, amount: account.amount + 100 })),
        );
      },
      check: async (table) => {
        const { entities } = leasesOf(table);
        const { amount = 0 } = (await entities.get(at)) ?? {};
        assert.ok(amount === 100 || amount === 101, `${amount}`);
        assert.equal(await leasesOf(table).holderOf(at), undefined);
      },
    });
    assert.deepEqual(requests, ['get', 'write', 'get', 'transact', 'write']);
  });
});
