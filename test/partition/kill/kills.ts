import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { holdingTimers, systemTimers } from '../../../src/base/async/timers.js';
import { systemClock } from '../../../src/base/clock.js';
import { systemRandomness } from '../../../src/base/randomness.js';
import { decodeCounter } from '../../../src/kv/counter.js';
import { Catalogue } from '../../../src/partition/catalogue.js';
import { openPartitionedStore } from '../../../src/partition/store.js';
import { verify } from '../../../src/partition/verify.js';
import { admitted, membersOf, operationsOver } from '../composed-stores.js';
import type { Ledger } from './ledger.js';
import { openAt, type Places } from './places.js';
import { beforeCancel, beginAt, type Point } from './points.js';
import { counterName, partitionCount, readTable } from './table.js';

const frontEnds = ['one', 'two'];

/**
 * Front ends in two processes write and read, while the processes that work on ranges are killed at
 * each of these moments and another takes over. Checks that what was acknowledged is there, once.
 */
export async function killAt(places: Places, at: readonly Point[]): Promise<void> {
  const members = await admitted(membersOf(await openAt(places, 'exclusive')));
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
    assert.deepEqual(
      await verify({ catalogue, members, clock: systemClock, timers: systemTimers }),
      [],
    );
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
    const operation = await beginAt(point, this.#catalogue, this.#operations);
    if (point.kind === 'move' && point.step === 'cancel') {
      await this.#run(operation, beforeCancel);
    }
    await this.#run(operation, point);
    assert.notEqual(await this.#operations.carryOut(operation), undefined, `${what} left nothing`);
    assert.deepEqual(await this.#catalogue.operations(), [], what);
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

/** Acknowledged rows are there, once, and no others but those nobody knows of. */
export function checkTable(
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
