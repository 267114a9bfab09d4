import { SimRandom } from './sim-random.js';
import { numberSetting, seedFor } from './sim-settings.js';

/**
 * True in the long form of tests, as by `npm run test:long` (`TABULARIUM_TEST_LONG=1`), which has
 * more random rounds. `npm test` runs the short form of the same tests.
 */
export const isLong = numberSetting('TABULARIUM_TEST_LONG', 0) > 0;

/** True when the whole suite runs in its short form. */
const isSampled = !isLong && numberSetting('TABULARIUM_TEST_SAMPLED', 0) > 0;

const draws = new SimRandom(seedFor('draws'));

/** A number from 0 to below - 1, by the draws of this process. */
export function drawn(below: number): number {
  return draws.int(below);
}

/** Of how many processes `npm test` runs the costly tests of one. */
const costlyShare = 8;

/** Decided once for a process: a test may go on with what another of its file has made. */
const hasCostly = !isSampled || draws.int(costlyShare) === 0;

/**
 * Options of a test that starts processes of its own, or takes seconds. A run of the whole suite
 * has these tests in one of eight of its processes; the long form and a run that names files have
 * all. No other test may need what one of these does. `lack`: why it cannot run here, if so.
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
 * All items in the long form of tests; in the short form `count` of them, side by side, from one
 * that is drawn. What fails must name its item.
 */
export function sampled<Item>(items: readonly Item[], count = 2): readonly Item[] {
  if (isLong || items.length <= count) return items;
  const first = draws.int(items.length);
  return [...items, ...items].slice(first, first + count);
}
