import { createHash } from 'node:crypto';
import { SimRandom } from './sim-random.js';
import { numberSetting, seedSetting } from './sim-settings.js';

/**
 * True in the long form of tests, as by `npm run test:long` (`TABULARIUM_TEST_LONG=1`), which has
 * more random rounds. `npm test` runs the short form of the same tests.
 */
export const isLong = numberSetting('TABULARIUM_TEST_LONG', 0) > 0;

/** True when the whole suite runs in its short form. */
const isSampled = !isLong && numberSetting('TABULARIUM_TEST_SAMPLED', 0) > 0;

/**
 * The seed of what a process draws. `scripts/test.js` gives all its processes one, and prints it: with
 * the same seed and the same files the draws are the same.
 */
const drawSeed = seedSetting('TABULARIUM_TEST_DRAW');
const draws = new SimRandom(seedOfProcess());

/** Each file, or group of files, draws for itself: otherwise all would draw alike. */
function seedOfProcess(): number {
  const file = (process.argv[1] ?? '').split(/[\\/]/).slice(-2).join('/');
  return createHash('sha256').update(`${drawSeed} ${file}`).digest().readInt32LE();
}

/** Of how many processes `npm test` runs the costly tests of one. */
const costlyShare = 8;

/** Decided once for a process: a test may go on with what another of its file has made. */
const hasCostly = !isSampled || draws.int(costlyShare) === 0;

/**
 * Options of a test that starts processes of its own, or takes seconds. A run of the whole suite
 * has these tests in one of eight of its processes; the long form and a run that names files have all. No
 * other test may need what one of these does. `lack`: why it cannot run here, if so.
 */
export function costly(lack: false | string = false): { readonly skip: false | string } {
  return { skip: lack !== false || hasCostly ? lack : 'not drawn this time' };
}

/** How much there is in each form of the tests. */
export function byLength<Amount>({
  short,
  long,
}: {
  readonly short: Amount;
  readonly long: Amount;
}): Amount {
  return isLong ? long : short;
}

/**
 * All items in the long form of tests; in the short form `count` of them, side by side, from one that is
 * drawn. What fails must name its item.
 */
export function sampled<Item>(items: readonly Item[], count = 2): readonly Item[] {
  if (isLong || items.length <= count) return items;
  const first = draws.int(items.length);
  return [...items, ...items].slice(first, first + count);
}
