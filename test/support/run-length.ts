import { numberSetting } from './sim-settings.js';

/**
 * True in the long form of tests, as by `npm run test:long` (`TABULARIUM_TEST_LONG=1`), which has
 * more random rounds. `npm test` runs the short form of the same tests.
 */
export const isLong = numberSetting('TABULARIUM_TEST_LONG', 0) > 0;

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
  const first = Math.floor(Math.random() * items.length);
  return [...items, ...items].slice(first, first + count);
}
