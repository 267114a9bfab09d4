import { encodeCounter } from '../../src/kv/counter.js';
import type { Check } from '../../src/kv/store.js';

/** The content of a key. `text`: its value, in hexadecimal for a counter. */
export interface Cell {
  readonly text: string;
  readonly version: number;
}

export type State = ReadonlyMap<string, Cell>;

/** A requested commit. Each puts its own key, which shows whether it was applied. */
export interface AskedCommit {
  readonly kind: 'commit';
  readonly name: string;
  readonly checks: readonly (Pick<Check, 'version'> & { readonly key: string })[];
  readonly puts: ReadonlyMap<string, string>;
  readonly deletes: readonly string[];
  readonly adds: ReadonlyMap<string, number>;
  outcome: 'waiting' | 'refused' | 'unknown' | number;
}

/** An operation that runs alone. */
export interface AskedAlone {
  readonly kind: 'alone';
  readonly name: string;
  readonly apply: (before: State) => State;
  outcome: 'waiting' | 'done' | 'refused';
}

export type Asked = AskedCommit | AskedAlone;

export class Wrong extends Error {
  override readonly name = 'Wrong';
}

/** What was requested and acknowledged since the state was last read. */
export class Ledger {
  #known: State = new Map();
  #asked: Asked[] = [];
  #lastVersion = 0;

  /** The highest acknowledged version. */
  get lastVersion(): number {
    return this.#lastVersion;
  }

  add(asked: Asked): void {
    this.#asked.push(asked);
  }

  acknowledge(commit: AskedCommit, version: number, floor: number): void {
    if (version <= floor) {
      throw new Wrong(`${commit.name} got version ${version} after ${floor} was given out`);
    }
    commit.outcome = version;
    this.#lastVersion = Math.max(this.#lastVersion, version);
  }

  /**
   * Throws `Wrong` unless the state has everything that was acknowledged, and besides only
   * requested changes.
   */
  settle(found: State): void {
    const [first = '', ...others] = this.#candidates(found).map((state) =>
      difference(state, found),
    );
    if (first !== '' && others.every((text) => text !== '')) throw new Wrong(first);
    this.#known = found;
    this.#asked = [];
  }

  /** Every correct state, given which commits are found. */
  #candidates(found: State): State[] {
    let state = this.#known;
    let together: [AskedCommit, number][] = [];
    const flush = (): void => {
      together.sort(([, left], [, right]) => left - right);
      for (const [commit, version] of together) state = applied(state, commit, version);
      together = [];
    };
    for (const asked of this.#asked) {
      if (asked.kind === 'commit') {
        const version = versionOf(asked, found);
        if (version !== undefined) together.push([asked, version]);
        continue;
      }
      flush();
      if (asked.outcome === 'waiting') return [state, asked.apply(state)];
      if (asked.outcome === 'done') state = asked.apply(state);
    }
    flush();
    return [state];
  }
}

/** The version of a commit that was applied. */
function versionOf({ outcome, name }: AskedCommit, found: State): number | undefined {
  if (typeof outcome === 'number') return outcome;
  return outcome === 'refused' ? undefined : found.get(name)?.version;
}

function applied(before: State, commit: AskedCommit, version: number): State {
  const after = new Map(before);
  for (const { key, version: wanted } of commit.checks) {
    const actual = before.get(key)?.version ?? 'absent';
    const holds = wanted === 'present' ? actual !== 'absent' : actual === wanted;
    if (!holds) throw new Wrong(`${commit.name} was applied where ${key} was ${actual}`);
  }
  for (const key of commit.deletes) after.delete(key);
  for (const [key, text] of commit.puts) after.set(key, { text, version });
  for (const [key, delta] of commit.adds) {
    const sum = counterIn(before.get(key)) + delta;
    after.set(key, { text: Buffer.from(encodeCounter(sum)).toString('hex'), version });
  }
  return after;
}

function counterIn(cell: Cell | undefined): number {
  return cell === undefined ? 0 : Number(Buffer.from(cell.text, 'hex').readBigInt64BE());
}

/** Empty when there is no difference. */
function difference(expected: State, found: State): string {
  for (const [key, { text, version }] of expected) {
    const other = found.get(key);
    if (other === undefined) return `${key} is missing: ${short(text)}, version ${version}`;
    if (other.text !== text || other.version !== version) {
      const is = `${short(other.text)}, version ${other.version}`;
      return `${key} is ${is}, and should be ${short(text)}, version ${version}`;
    }
  }
  const more = [...found.keys()].find((key) => !expected.has(key));
  return more === undefined ? '' : `${more} is there, and should not be`;
}

function short(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}… (${text.length})` : text;
}
