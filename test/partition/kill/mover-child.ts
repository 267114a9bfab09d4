import { holdingTimers } from '../../../src/base/async/timers.js';
import { systemClock } from '../../../src/base/clock.js';
import { Catalogue } from '../../../src/partition/catalogue.js';
import { Operations } from '../../../src/partition/operations/operations.js';
import { membersOf } from '../composed-stores.js';
import { Killing } from './killing.js';
import { openAt, type Places } from './places.js';
import type { Point } from './points.js';

// A process that works on a range, and is killed at a given moment. Arguments as JSON: the places
// of the stores, the operation, the moment.

const [placesText = '', operationText = '', pointText = ''] = process.argv.slice(2);
const places = JSON.parse(placesText) as Places;
const operation = Number(operationText);
const point = JSON.parse(pointText) as Point;

const killing = new Killing(point);
const stores = await openAt(places, 'join');
const members = membersOf(stores.map((store) => killing.wrap(store)));
const operations = new Operations({
  catalogue: new Catalogue(members.home),
  members,
  clock: systemClock,
  timers: holdingTimers,
  pauseMillisMax: 1_000,
  pageEntriesMax: 50,
  onStep: killing.onStep,
});
if (point.kind === 'move' && point.step === 'cancel') await operations.cancel(operation);
else await operations.carryOut(operation);
process.exit(0);
