/**
 * A half-open interval of strings in ordinal order of UTF-16 code units, the order of JavaScript's
 * `<`. `start` is included, `end` is not; an absent end is open. The direct successor of a string
 * is that string followed by U+0000, so bounds need no open and closed flags.
 */
export interface StringInterval {
  readonly start: string;
  readonly end: string | undefined;
}

/** Sorted, disjoint, not touching, none empty. Equal sets have equal intervals. */
export type StringSet = readonly StringInterval[];

export const allStrings: StringSet = Object.freeze([
  Object.freeze({ start: '', end: undefined } satisfies StringInterval),
]);

export const noStrings: StringSet = Object.freeze([]);

/** The smallest string greater than `text`. */
export function stringAfter(text: string): string {
  return `${text}\u0000`;
}

/** Whether the interval holds exactly one string, its start. */
export function isSingleString({ start, end }: StringInterval): boolean {
  return (
    end !== undefined &&
    end.length === start.length + 1 &&
    end.charCodeAt(start.length) === 0 &&
    end.startsWith(start)
  );
}

export function isAllStrings(set: StringSet): boolean {
  const [only] = set;
  return only !== undefined && only.start === '' && only.end === undefined;
}

/** The strings from `start` on and before `end`. */
export function stringRange(start: string, end?: string): StringSet {
  if (end !== undefined && end <= start) return noStrings;
  return start === '' && end === undefined ? allStrings : [{ start, end }];
}

/** The lower of two ends. */
export function lowerEnd(left: string | undefined, right: string | undefined): string | undefined {
  if (left === undefined) return right;
  return right === undefined || left < right ? left : right;
}

export function complementOfStrings(set: StringSet): StringSet {
  const gaps: StringInterval[] = [];
  let start: string | undefined = '';
  for (const interval of set) {
    if (start !== undefined && start < interval.start) gaps.push({ start, end: interval.start });
    start = interval.end;
  }
  if (start !== undefined) gaps.push({ start, end: undefined });
  return isAllStrings(gaps) ? allStrings : gaps;
}

export function intersectStrings(left: StringSet, right: StringSet): StringSet {
  if (isAllStrings(left)) return right;
  if (isAllStrings(right) || left === right) return left;
  const shared: StringInterval[] = [];
  let l = 0;
  let r = 0;
  for (;;) {
    const a = left[l];
    const b = right[r];
    if (a === undefined || b === undefined) return shared;
    const start = a.start < b.start ? b.start : a.start;
    const end = lowerEnd(a.end, b.end);
    if (end === undefined || start < end) shared.push({ start, end });
    if (end === undefined) return shared;
    if (a.end === end) l += 1;
    if (b.end === end) r += 1;
  }
}

export function uniteStrings(sets: readonly StringSet[]): StringSet {
  if (sets.some(isAllStrings)) return allStrings;
  const [only] = sets;
  if (only !== undefined && sets.length === 1) return only;
  const sorted = sets.flat().sort((a, b) => (a.start < b.start ? -1 : a.start > b.start ? 1 : 0));
  const united: StringInterval[] = [];
  let last: StringInterval | undefined;
  for (const next of sorted) {
    if (last === undefined || (last.end !== undefined && last.end < next.start)) {
      if (last !== undefined) united.push(last);
      last = next;
    } else if (last.end !== undefined && (next.end === undefined || last.end < next.end)) {
      last = { start: last.start, end: next.end };
    }
  }
  if (last !== undefined) united.push(last);
  return isAllStrings(united) ? allStrings : united;
}

export function sameStrings(left: StringSet, right: StringSet): boolean {
  return (
    left === right ||
    (left.length === right.length &&
      left.every((a, i) => a.start === right[i]?.start && a.end === right[i]?.end))
  );
}
