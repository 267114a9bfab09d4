import { setTimeout as pause } from 'node:timers/promises';
import { holdingTimers } from '../../../src/base/async/timers.js';
import { systemClock, type Clock } from '../../../src/base/clock.js';
import { systemRandomness } from '../../../src/base/randomness.js';
import { serveStore } from '../../../src/kv/conformance/remote-store.js';
import type { MemberStore } from '../../../src/kv/member-store.js';
import { Catalogue } from '../../../src/partition/catalogue.js';
import { OperationRunner } from '../../../src/partition/operations/operation-runner.js';
import { openPartitionedStore } from '../../../src/partition/store.js';
import { admitted, membersOf, operationsOver, watched } from '../composed-stores.js';
import { Killing } from './killing.js';
import { openAt, type Places } from './places.js';
import { beforeCancel, beginAt, type Point } from './points.js';

// The only process of its stores: serves them, and carries operations on by itself, or begins one
// and is killed at a moment of it. Arguments: the places of the stores as JSON, by how many
// microseconds its clock is ahead, and the moment as JSON, or nothing.

const lookMs = 20;
const [placesText = '', aheadText = '', pointText] = process.argv.slice(2);
const places = JSON.parse(placesText) as Places;
const ahead = Number(aheadText);
const clock: Clock = {
  nowMicros: () => systemClock.nowMicros() + ahead,
  monotonicMs: () => systemClock.monotonicMs(),
};

const stores = await openAt(places, 'exclusive', clock);
const members = await admitted(membersOf(stores));
const catalogue = new Catalogue(members.home);
const common = { members, clock, timers: holdingTimers };
process.once('disconnect', () => process.exit(0));
serveStore(await openPartitionedStore({ ...common, randomness: systemRandomness }));
if (pointText === undefined) await carryOn();
else await dieAt(JSON.parse(pointText) as Point);

/** As a server does, and tells when no operation is left. */
async function carryOn(): Promise<void> {
  const onFailed = (operation: number, error: unknown) => {
    process.stderr.write(`operation ${operation} could not go on: ${String(error)}\n`);
  };
  new OperationRunner({ ...common, catalogue, onFailed }).start();
  while ((await catalogue.operations()).length > 0) await pause(lookMs);
  process.send?.('over');
}

async function dieAt(point: Point): Promise<void> {
  const operation = await beginAt(point, catalogue, operationsOver(members, clock));
  const killing = new Killing(point);
  const seen = membersOf(stores.map((store) => killing.wrap(store)));
  const operations = operationsOver(seen, clock, { pageEntriesMax: 50, onStep: killing.onStep });
  if (point.kind === 'move' && point.step === 'cancel') {
    await leaveBeforeCancel(operation);
    await operations.cancel(operation);
  } else {
    await operations.carryOut(operation);
  }
  throw new Error(`it is over instead of being killed at ${JSON.stringify(point)}`);
}

/** Carries the operation on to the moment at which it is cancelled. */
async function leaveBeforeCancel(operation: number): Promise<void> {
  let isThere = false;
  const leaving = (store: MemberStore) =>
    watched(store, () => {
      if (isThere) throw new Error('left here');
    });
  const onStep = (step: string): void => {
    isThere ||= beforeCancel.kind === 'move' && step === beforeCancel.step;
  };
  const operations = operationsOver(membersOf(stores.map(leaving)), clock, { onStep });
  await operations.carryOut(operation).catch((error: unknown) => {
    if (!isThere) throw error;
  });
}
