import { refused, type Refusal } from './refusal.js';
import { limitText, type KnownLimit } from '../limits/known-limit.js';

/**
 * How many shares of at most `limit` a value needs: at least 1, and 1 without a limit. `value` is 0
 * or more and finite. Refused: a limit that is not above 0, and a number of shares beyond the safe
 * integers.
 */
export function sharesOf(value: number, limit: KnownLimit | undefined): number | Refusal {
  if (limit === undefined) return 1;
  if (!(limit.value > 0)) {
    return refused('bad-count', `${limit.name}: ${limitText(limit)}; give a limit above 0`);
  }
  const shares = Math.max(1, Math.ceil(value / limit.value));
  if (Number.isSafeInteger(shares)) return shares;
  return refused('too-much', `${value} are more than can be counted in ${limitText(limit)}`);
}
