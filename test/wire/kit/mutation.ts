/** An integer from 0 to below `below`. */
export type Random = (below: number) => number;

/** A small seeded generator (mulberry32), so that a run can be repeated. */
export function generator(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const pieces = [
  "'",
  '"',
  '%',
  '\u0000',
  '\r\n',
  '{',
  '}',
  '(',
  ')',
  '\\',
  'é',
  '--',
  '\uFEFF',
  '1e999',
];

/** Changes, removes, doubles or adds one to three bytes or pieces. */
export function mutate(bytes: Buffer, random: Random): Buffer {
  let result = bytes;
  for (let count = 1 + random(3); count > 0; count -= 1) {
    const at = random(result.length + 1);
    const before = result.subarray(0, at);
    const after = result.subarray(at);
    switch (random(6)) {
      case 0:
        result = Buffer.concat([before, Buffer.of(random(256)), after.subarray(1)]);
        break;
      case 1:
        result = Buffer.concat([before, after.subarray(1 + random(8))]);
        break;
      case 2:
        result = Buffer.concat([before, Buffer.from(pieces[random(pieces.length)] ?? ''), after]);
        break;
      case 3:
        result = Buffer.concat([before, after.subarray(0, random(20)), after]);
        break;
      case 4:
        result = before;
        break;
      default:
        result = Buffer.concat([before, Buffer.of(random(256)), after]);
    }
  }
  return result;
}

/**
 * Printable ASCII without space: what a target may have and still reach the parsers of this
 * project.
 */
export function visible(bytes: Buffer): string {
  return bytes.toString('latin1').replace(/[^\x21-\x7e]/g, '~');
}
