import { stampOf } from '../sim/model.js';
import type { Model } from './checker.js';

/** The content of a row: two numbers, of which a merge writes one. */
export interface Row {
  readonly a: number;
  readonly b: number;
  readonly etag: string;
}

export type Write =
  | { readonly kind: 'insert'; readonly row: string; readonly a: number; readonly b: number }
  /** Without `ifMatch` it creates a missing row. */
  | {
      readonly kind: 'replace';
      readonly row: string;
      readonly a: number;
      readonly b: number;
      readonly ifMatch?: string;
    }
  | { readonly kind: 'merge'; readonly row: string; readonly b: number; readonly ifMatch?: string }
  | { readonly kind: 'delete'; readonly row: string; readonly ifMatch: string };

export type PartitionInput =
  | { readonly kind: 'write'; readonly write: Write }
  /** The rows differ. */
  | { readonly kind: 'group'; readonly writes: readonly Write[] }
  | { readonly kind: 'get'; readonly row: string }
  | { readonly kind: 'query' };

export type Refusal = 'EntityAlreadyExists' | 'ResourceNotFound' | 'UpdateConditionNotSatisfied';

export type Rows = Readonly<Record<string, Row>>;

export type PartitionOutput =
  /** One etag for each write; empty for a deletion. */
  | { readonly kind: 'written'; readonly etags: readonly string[] }
  | { readonly kind: 'refused'; readonly code: Refusal; readonly index: number }
  | { readonly kind: 'rows'; readonly rows: Rows };

/** The missing number of a row that a merge created. */
export const nothing = -1;

/** The etag of a row whose writer got no response; the first read shows it. */
const unknownEtag = '?';

export interface Partition {
  readonly rows: Rows;
  /** The highest version in a response to a write: the next one must be higher. */
  readonly version: string;
}

/** All rows of a partition and their behaviour in the table service. */
export const partitionModel: Model<Partition, PartitionInput, PartitionOutput> = {
  initial: { rows: {}, version: '' },
  step({ rows, version }, input, output) {
    if (input.kind === 'get' || input.kind === 'query') {
      return read(rows, input, output).map((learnt) => ({ rows: learnt, version }));
    }
    const writes = input.kind === 'write' ? [input.write] : input.writes;
    const etags = output?.kind === 'written' ? output.etags : undefined;
    const outcome = applied(rows, writes, etags);
    if (output === undefined) {
      return 'code' in outcome
        ? [{ rows, version }]
        : [
            { rows, version },
            { rows: outcome.rows, version },
          ];
    }
    if ('code' in outcome) {
      const { code, index } = outcome;
      const isTold = output.kind === 'refused' && output.code === code && output.index === index;
      return isTold ? [{ rows, version }] : [];
    }
    const stamps = (etags ?? [])
      .filter((etag) => etag !== '')
      .map(stampOf)
      .sort();
    if (output.kind !== 'written' || stamps.some((stamp) => stamp <= version)) return [];
    return [{ rows: outcome.rows, version: stamps.at(-1) ?? version }];
  },
  textOf: ({ rows, version }) =>
    Object.keys(rows)
      .sort()
      .map((row) => `${row}:${rows[row]?.a},${rows[row]?.b},${rows[row]?.etag}`)
      .join(' ') + version,
};

/** A read shows the rows, and so the etags that no response has shown before. */
function read(
  state: Rows,
  input: Extract<PartitionInput, { kind: 'get' | 'query' }>,
  output: PartitionOutput | undefined,
): readonly Rows[] {
  if (output === undefined) return [state];
  if (output.kind !== 'rows') return [];
  const asked =
    input.kind === 'get' ? [input.row] : [...Object.keys(state), ...Object.keys(output.rows)];
  const learnt: Record<string, Row> = { ...state };
  for (const name of asked) {
    const [is, told] = [state[name], output.rows[name]];
    if (is === undefined && told === undefined) continue;
    if (is === undefined || told === undefined || is.a !== told.a || is.b !== told.b) return [];
    if (is.etag !== unknownEtag && is.etag !== told.etag) return [];
    learnt[name] = told;
  }
  return [learnt];
}

type Applied = { readonly rows: Rows } | { readonly code: Refusal; readonly index: number };

/** The rows after all writes, or the first write that fails. */
function applied(
  state: Rows,
  writes: readonly Write[],
  etags: readonly string[] | undefined,
): Applied {
  const next: Record<string, Row> = { ...state };
  for (const [index, write] of writes.entries()) {
    const code = refusalOf(state[write.row], write);
    if (code !== undefined) return { code, index };
    const old = state[write.row];
    const etag = etags?.[index] ?? unknownEtag;
    if (write.kind === 'delete') delete next[write.row];
    else if (write.kind === 'merge') next[write.row] = { a: old?.a ?? nothing, b: write.b, etag };
    else next[write.row] = { a: write.a, b: write.b, etag };
  }
  return { rows: next };
}

function refusalOf(old: Row | undefined, write: Write): Refusal | undefined {
  if (write.kind === 'insert') return old === undefined ? undefined : 'EntityAlreadyExists';
  const { ifMatch } = write;
  if (ifMatch === undefined) return undefined;
  if (old === undefined) return 'ResourceNotFound';
  // A client that sends an etag has received it, so it is not that of a row with an unknown etag.
  return ifMatch === '*' || ifMatch === old.etag ? undefined : 'UpdateConditionNotSatisfied';
}
