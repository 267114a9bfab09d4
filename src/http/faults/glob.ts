/** A parsed pattern. Matching takes at most the product of both lengths. */
export type Glob = readonly GlobPart[];

type GlobPart = { readonly kind: 'unit'; readonly unit: string } | { readonly kind: 'any' | 'run' };

/**
 * `*` matches any text, `?` any one UTF-16 code unit, and a backslash escapes the next character.
 * Undefined for a backslash at the end.
 */
export function parseGlob(text: string): Glob | undefined {
  const parts: GlobPart[] = [];
  for (let at = 0; at < text.length; at += 1) {
    let unit = text.charAt(at);
    if (unit === '*') {
      if (parts.at(-1)?.kind !== 'run') parts.push({ kind: 'run' });
      continue;
    }
    if (unit === '?') {
      parts.push({ kind: 'any' });
      continue;
    }
    if (unit === '\\') {
      at += 1;
      if (at === text.length) return undefined;
      unit = text.charAt(at);
    }
    parts.push({ kind: 'unit', unit });
  }
  return parts;
}

/**
 * True when the pattern matches the whole text. Backtracks only to the last `*`, which suffices.
 */
export function matchesGlob(glob: Glob, text: string): boolean {
  let part = 0;
  let at = 0;
  let runPart = -1;
  let runAt = 0;
  while (at < text.length) {
    const expected = glob[part];
    if (expected?.kind === 'run') {
      runPart = part;
      runAt = at;
      part += 1;
    } else if (expected !== undefined && fits(expected, text.charAt(at))) {
      part += 1;
      at += 1;
    } else if (runPart >= 0) {
      runAt += 1;
      at = runAt;
      part = runPart + 1;
    } else return false;
  }
  while (glob[part]?.kind === 'run') part += 1;
  return part === glob.length;
}

function fits(expected: GlobPart, unit: string): boolean {
  return expected.kind === 'any' || (expected.kind === 'unit' && expected.unit === unit);
}
