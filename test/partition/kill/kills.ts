import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { holdingTimers } from '../../../src/base/async/timers.js';
import { systemClock } from '../../../src/base/clock.js';
import { systemRandomness } from '../../../src/base/randomness.js';
import { decodeCounter } from '../../../src/kv/counter.js';
import { Catalogue } from '../../../src/partition/catalogue.js';
import { moveSteps, type MoveStep } from '../../../src/partition/rows.js';
import { openPartitionedStore } from '../../../src/partition/store.js';
import { verify } from '../../../src/partition/verify.js';
import { membersOf, operationsOver } from '../composed-stores.js';
import type { Ledger } from './ledger.js';
import { openAt, type Places } from './places.js';
import { counterName, partitionCount, prefixOf, readTable } from './table.js';

/** When a process that works on a range is killed: around the fence of a split or merge, or a step. */
export type Point = { readonly moment: 'before' | 'after' } & (
  { readonly kind: 'split' | 'merge' } | { readonly kind: 'move'; readonly step: MoveStep }
);

/** Every moment at which something differs for whoever takes over. */
export const points: readonly Point[] = (['before', 'after'] as const).flatMap((moment) => {
  const moves = moveSteps.map((step): Point => ({ kind: 'move', step, moment }));
  return moves.concat({ kind: 'split', moment }, { kind: 'merge', moment });
});

const frontEnds = ['one', 'two'];

/**
 * Front ends in two processes write and read, while the processes that work on ranges are killed at
 * each of these moments and another takes over. Checks that what was acknowledged is there, once.
 */
export async function killAt(places: Places, at: readonly Point[]): Promise<void> {
  const members = membersOf(await openAt(places, 'exclusive'));
  const common = { members, clock: systemClock, timers: holdingTimers };
  const store = await openPartitionedStore({ ...common, randomness: systemRandomness });
  const running: ChildProcess[] = [];
  try {
    for (const name of frontEnds) running.push(await startFrontEnd(places, name));
    const kills = new Kills(places, members);
    for (const point of at) await kills.kill(point);
    const ledgers: Ledger[] = [];
    for (const child of running) ledgers.push(await ledgerOf(child));
    checkTable(await readTable(store), ledgers);
    const catalogue = new Catalogue(members.home);
    assert.deepEqual(await verify({ catalogue, members, clock: systemClock }), []);
  } finally {
    for (const child of running) child.kill('SIGKILL');
    await store.close();
  }
}

class Kills {
  readonly #places: Places;
  readonly #catalogue: Catalogue;
  readonly #operations;

  constructor(places: Places, members: ReturnType<typeof membersOf>) {
    this.#places = places;
    this.#catalogue = new Catalogue(members.home);
    this.#operations = operationsOver(members, systemClock);
  }

  async kill(point: Point): Promise<void> {
    const what = JSON.stringify(point);
    const operation = await this.#begin(point);
    if (point.kind === 'move' && point.step === 'cancel') {
      // It is cancelled when it has copied.
      await this.#run(operation, { kind: 'move', step: 'catch up', moment: 'before' });
    }
    await this.#run(operation, point);
    assert.notEqual(await this.#operations.carryOut(operation), undefined, `${what} left nothing`);
    assert.deepEqual(await this.#catalogue.operations(), [], what);
  }

  /** Begins what the point is about, on ranges that are as it needs them. */
  async #begin(point: Point): Promise<number> {
    const { kind } = point;
    const cut = prefixOf(partitionCount / 2);
    const map = await this.#catalogue.map();
    const [left, right] = map.ranges;
    assert.ok(left !== undefined);
    if (kind === 'split' && right !== undefined) await this.#end(await this.#merge());
    if (kind !== 'split' && right === undefined) {
      await this.#end(await this.#operations.beginSplit(left.id, cut));
    }
    if (kind === 'merge') return begunOf(await this.#merge());
    const { id, store } = (await this.#catalogue.map()).at(cut);
    if (kind === 'split') return begunOf(await this.#operations.beginSplit(id, cut));
    const other = store === 's0' ? 's1' : 's0';
    const begun =
      point.kind === 'move' && point.step === 'discard'
        ? await this.#operations.beginDiscard(id, other)
        : await this.#operations.beginMove(id, other);
    return begunOf(begun);
  }

  /** Of the two ranges, which may be on two stores. */
  async #merge() {
    const [left, right] = (await this.#catalogue.map()).ranges;
    assert.ok(left !== undefined && right !== undefined);
    if (left.store !== right.store) {
      await this.#end(await this.#operations.beginMove(right.id, left.store));
    }
    return this.#operations.beginMerge(left.id, right.id);
  }

  async #end(begun: Parameters<typeof begunOf>[0]): Promise<void> {
    await this.#operations.carryOut(begunOf(begun));
  }

  async #run(operation: number, point: Point): Promise<void> {
    const child = childOf('mover', [
      JSON.stringify(this.#places),
      String(operation),
      JSON.stringify(point),
    ]);
    const [code, signal] = await once(child, 'exit');
    const ended = `it ended with ${String(code)} instead of being killed at`;
    assert.equal(signal, 'SIGKILL', `${ended} ${JSON.stringify(point)}`);
  }
}

function begunOf(
  begun: { readonly ok: true; readonly operation: number } | { readonly ok: false },
): number {
  assert.ok(begun.ok, `it does not begin: ${JSON.stringify(begun)}`);
  return begun.operation;
}

function checkTable(
  table: Awaited<ReturnType<typeof readTable>>,
  ledgers: readonly Ledger[],
): void {
  const acknowledged = ledgers.flatMap((ledger) => ledger.acknowledged);
  const possible = new Set([...acknowledged, ...ledgers.flatMap(({ unknown }) => unknown)]);
  assert.deepEqual(
    ledgers.flatMap(({ problems }) => problems),
    [],
  );
  assert.deepEqual(
    acknowledged.filter((row) => !table.has(row)),
    [],
    'acknowledged rows are missing',
  );
  assert.ok(acknowledged.length > frontEnds.length * partitionCount, 'there was load');
  const rows = [...table.keys()].filter((name) => name.includes('/r-'));
  assert.deepEqual(
    rows.filter((row) => !possible.has(row)),
    [],
    'refused rows are there',
  );
  // A commit that was applied twice, or half, shows in the counter.
  for (let partition = 0; partition < partitionCount; partition += 1) {
    const value = table.get(counterName(partition))?.value;
    const counted = value === undefined ? 0 : decodeCounter(value);
    const own = rows.filter((row) => row.startsWith(`${partition}/`));
    assert.equal(counted, own.length, `the counter of partition ${partition}`);
  }
}

async function startFrontEnd(places: Places, name: string): Promise<ChildProcess> {
  const child = childOf('front-end', [JSON.stringify(places), name]);
  await messageOf(child);
  return child;
}

async function ledgerOf(child: ChildProcess): Promise<Ledger> {
  const answer = messageOf(child);
  child.send('stop');
  return (await answer) as Ledger;
}

/** Rejects when the process ends instead. */
function messageOf(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null, signal: string | null) => {
      reject(new Error(`a front end ended with ${code ?? signal}`));
    };
    child.once('exit', ended);
    child.once('message', (message) => {
      child.off('exit', ended);
      resolve(message);
    });
  });
}

function childOf(role: 'mover' | 'front-end', given: readonly string[]): ChildProcess {
  const program = fileURLToPath(new URL(`./${role}-child.js`, import.meta.url));
  return fork(program, given, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
}
