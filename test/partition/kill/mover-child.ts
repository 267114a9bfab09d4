import { holdingTimers } from '../../../src/base/async/timers.js';
import { systemClock } from '../../../src/base/clock.js';
import type { MemberStore } from '../../../src/kv/member-store.js';
import { Catalogue } from '../../../src/partition/catalogue.js';
import { Operations } from '../../../src/partition/operations/operations.js';
import type { MoveStep } from '../../../src/partition/rows.js';
import { membersOf } from '../composed-stores.js';
import type { Point } from './kills.js';
import { openAt, type Places } from './places.js';

// A process that works on a range, and is killed at a given moment. Arguments as JSON: the places of
// the stores, the operation, the moment.

const [placesText = '', operationText = '', pointText = ''] = process.argv.slice(2);
const places = JSON.parse(placesText) as Places;
const operation = Number(operationText);
const point = JSON.parse(pointText) as Point;

let isReached = point.kind !== 'move';
let hasPassed = false;

function die(): Promise<never> {
  process.kill(process.pid, 'SIGKILL');
  return new Promise<never>(() => undefined);
}

async function onStep(step: MoveStep): Promise<void> {
  if (hasPassed) return die();
  if (point.kind !== 'move' || step !== point.step) return;
  if (point.moment === 'before') return die();
  isReached = true;
}

/** Dies around the first write behind the step, or around the fence of a split or merge. */
async function around<Result>(write: () => Promise<Result>, isFence: boolean): Promise<Result> {
  const isIt = isReached && (point.kind === 'move' || isFence);
  if (isIt && point.moment === 'before') return die();
  const result = await write();
  if (isIt) return die();
  return result;
}

function killing(store: MemberStore): MemberStore {
  return {
    get: (key, options) => store.get(key, options),
    getMany: (keys, options) => store.getMany(keys, options),
    range: (range, options) => store.range(range, options),
    sample: (range, cuts, options) => store.sample(range, cuts, options),
    commit: (batch) => around(() => store.commit(batch), false),
    fence: (batch) => around(() => store.fence(batch), true),
    ingest: (ingestion) => around(() => store.ingest(ingestion), false),
    close: () => store.close(),
  };
}

const members = membersOf((await openAt(places, 'join')).map(killing));
const operations = new Operations({
  catalogue: new Catalogue(members.home),
  members,
  clock: systemClock,
  timers: holdingTimers,
  pauseMillisMax: 1_000,
  pageEntriesMax: 50,
  onStep(step) {
    // A step without a write ends where the next begins.
    if (isReached && point.kind === 'move' && step !== point.step) hasPassed = true;
    void onStep(step);
  },
});
if (point.kind === 'move' && point.step === 'cancel') await operations.cancel(operation);
else await operations.carryOut(operation);
process.exit(0);
