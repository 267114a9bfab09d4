import * as fc from 'fast-check';

/** The limits of a name, in UTF-16 code units and in parts between slashes (blob-service §5.2). */
const longestName = 1024;
const segmentsOfName = 254;

/** Both sides of each place where UTF-8 or UTF-16 needs more of its units, marks, and slashes. */
const edgeCodes = [
  0, 1, 0x20, 0x25, 0x2e, 0x2f, 0x65, 0x7f, 0x80, 0xe9, 0x301, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff,
  0x10000, 0x10ffff,
];
const edges = fc.constantFrom(...edgeCodes).map((code) => String.fromCodePoint(code));

/** Text of any code points. Surrogates come in pairs: others have no place in a URL. */
export const namePiece = fc.oneof(
  edges,
  fc.string({ unit: 'binary', minLength: 1, maxLength: 3 }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 3 }),
);

/** Legal names of blobs, up to the longest, and beginnings of such. */
export interface NameArbitraries {
  readonly name: fc.Arbitrary<string>;
  /** The beginning of a name, which may be empty. */
  readonly beginning: fc.Arbitrary<string>;
}

/** Names that have some of these pieces in common. */
export function namesOf(pieces: readonly string[]): NameArbitraries {
  const some = fc.constantFrom(...pieces);
  const short = fc.array(some, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(''));
  const long = fc.tuple(some, fc.integer({ min: 0, max: longestName }), short);
  const name = fc
    .oneof(
      { weight: 4, arbitrary: short },
      { weight: 1, arbitrary: long.map(([part, times, end]) => part.repeat(times) + end) },
      { weight: 1, arbitrary: fc.string({ unit: 'binary', minLength: 1, size: 'large' }) },
    )
    .map(legalName);
  const beginning = fc
    .tuple(name, fc.nat(longestName))
    .map(([of, at]) => wellFormed(of.slice(0, at)));
  return { name, beginning };
}

/** The order of a list (blob-service §8.1). */
export function byUnits(left: string, right: string): number {
  return left < right ? -1 : 1;
}

/** The longest beginning of a text that is a legal name. */
function legalName(text: string): string {
  const segments = text.replaceAll('\\', '/').split('/').slice(0, segmentsOfName);
  return wellFormed(segments.join('/').slice(0, longestName));
}

/** Without the half of a pair of surrogates that a cut has left at the end. */
function wellFormed(text: string): string {
  return text.replace(/[\ud800-\udbff]$/, '');
}
