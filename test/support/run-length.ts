import { numberSetting } from './sim-settings.js';

/**
 * Whether tests run in their long form, as `npm run test:long` has them (`TABULARIUM_TEST_LONG=1`):
 * more rounds of what is drawn anew each time. `npm test` has the short form of the same tests.
 */
export const isLong = numberSetting('TABULARIUM_TEST_LONG', 0) > 0;

/** A count that depends on the form. */
export function byLength({ short, long }: { readonly short: number; readonly long: number }) {
  return isLong ? long : short;
}
