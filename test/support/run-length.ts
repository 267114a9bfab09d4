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
