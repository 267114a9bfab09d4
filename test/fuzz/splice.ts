import type { SimRandom } from '../support/sim-random.js';

/** The text with a token put in, a piece taken out, doubled, or replaced. */
export function spliced(random: SimRandom, text: string, tokens: readonly string[]): string {
  const from = random.int(text.length + 1);
  const to = Math.min(text.length, from + random.int(8));
  switch (random.weighted({ insert: 5, remove: 2, replace: 3, twice: 1, whole: 1, long: 1 })) {
    case 'insert':
      return text.slice(0, from) + random.pick(tokens) + text.slice(from);
    case 'remove':
      return text.slice(0, from) + text.slice(to);
    case 'replace':
      return text.slice(0, from) + random.pick(tokens) + text.slice(to);
    case 'twice':
      return text.slice(0, to) + text.slice(from);
    case 'whole':
      return random.pick(tokens);
    default:
      return (
        text.slice(0, from) + random.pick(tokens).repeat(random.between(2, 600)) + text.slice(from)
      );
  }
}

/** Replaces unpaired surrogates, which splicing may create and no URL can contain. */
export function sayable(text: string): string {
  return Buffer.from(text).toString();
}
