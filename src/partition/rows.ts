import type { Bytes } from '../base/bytes.js';
import { unreachable } from '../base/invariant.js';
import { StoreDamagedError } from '../kv/errors.js';
import type { SizedKey } from '../kv/sized-keys.js';
import { decodeTuple, encodeTuple, type TupleElement } from '../kv/tuple.js';
import type { ComparedUntil, Finding, NotCompared } from './findings.js';

/** A row with the version of its entry, which writes that depend on the row demand. */
export interface Versioned<Row> {
  readonly row: Row;
  readonly version: number;
}

export interface MapRow {
  /** Rises with every change of the ranges. */
  readonly version: number;
  /** The id of the next range or operation. Ids are never used again. */
  readonly nextId: number;
}

/**
 * An interval of keys that belongs to one store. Its bounds are partition prefixes, and never
 * change.
 */
export interface RangeRow {
  readonly id: number;
  /** Included; empty for the first range. */
  readonly start: Bytes;
  /** Excluded; absent for the last range. */
  readonly end: Bytes | undefined;
  /** The name of the store. */
  readonly store: string;
  /** Rises whenever another store or range takes over the keys. */
  readonly epoch: number;
  /** The id of the operation that works on the range, 0 when there is none. */
  readonly operation: number;
}

/**
 * `serving`: reads and writes. `logging`: the same, and each commit notes the keys it writes.
 * `fenced`: reads only. `moved` and `incoming`: nothing, at the source and the target of a move.
 */
export const guardStates = ['serving', 'logging', 'fenced', 'moved', 'incoming'] as const;
export type GuardState = (typeof guardStates)[number];

export interface GuardRow {
  readonly state: GuardState;
  readonly epoch: number;
  /**
   * The operation that last wrote the guard, also after its end; 0 before the first. Only a greater
   * pair of operation and token may write it again.
   */
  readonly operation: number;
  readonly token: number;
}

/**
 * The steps of a move, in order. `cancel` undoes what was done before `activate`. `discard` is the
 * only step of an operation that moves nothing: it deletes what the target has of the range.
 */
export const moveSteps = [
  'prepare',
  'log',
  'copy',
  'catch up',
  'fence',
  'close',
  'activate',
  'clean',
  'cancel',
  'discard',
] as const;
export type MoveStep = (typeof moveSteps)[number];

interface Operation {
  readonly id: number;
  /** Rises with every takeover. */
  readonly token: number;
  /**
   * Other processes may take over after this time, in microseconds since 1970. Safety does not
   * depend on it.
   */
  readonly leaseUntil: number;
}

export interface MoveRow extends Operation {
  readonly kind: 'move';
  readonly step: MoveStep;
  readonly range: number;
  readonly source: string;
  readonly target: string;
  /** From `activate` on: versions at the target exceed it. */
  readonly floor: number;
}

export interface SplitRow extends Operation {
  readonly kind: 'split';
  readonly range: number;
  readonly at: Bytes;
  readonly left: number;
  readonly right: number;
}

export interface MergeRow extends Operation {
  readonly kind: 'merge';
  readonly left: number;
  readonly right: number;
  readonly into: number;
}

/** A range is being copied to a backup; only the process that began it knows the target. */
export interface BackupRow extends Operation {
  readonly kind: 'backup';
  readonly range: number;
}

/** A backup is being restored into a range; only the process that began it knows the source. */
export interface RestoreRow extends Operation {
  readonly kind: 'restore';
  readonly range: number;
}

export type OperationRow = MoveRow | SplitRow | MergeRow | BackupRow | RestoreRow;

/** The ranges that an operation makes, by number. They have guards before they are in the map. */
export function newRangesOf(row: OperationRow): readonly number[] {
  if (row.kind === 'split') return [row.left, row.right];
  return row.kind === 'merge' ? [row.into] : [];
}

/** The identity of a store, in the store itself. */
export interface MemberRow {
  /** The id of the key space, the same in all of its stores. */
  readonly space: string;
  readonly name: string;
  /**
   * A random id, drawn when the store was admitted. Distinguishes it from every other store that
   * was ever admitted under this name.
   */
  readonly admission: string;
}

/** `draining`: no range moves there, and those that it has move away. */
export const storeStates = ['active', 'draining'] as const;
export type StoreState = (typeof storeStates)[number];

/** A store of the key space, as the catalogue knows it. */
export interface StoreRow {
  readonly name: string;
  readonly state: StoreState;
  /**
   * Where its data are, as text for people. Two machines may have different data under the same
   * text.
   */
  readonly location: string;
  /** The admission in the member row of the store. A store with another one is refused. */
  readonly admission: string;
}

/** A store that was removed as lost. Its data may be out of date, so it is never admitted again. */
export interface LostRow {
  readonly name: string;
  /** Where it was, as people read it. */
  readonly location: string;
}

/** The range that a backup is a copy of. The entries are in the same store. */
export interface BackupNote {
  readonly start: Bytes;
  readonly end: Bytes | undefined;
  /** Versions of commits after a restore exceed it. */
  readonly floor: number;
}

export function encodeBackupNote({ start, end, floor }: BackupNote): Bytes {
  return encodeTuple([start, end ?? noBytes, floor]);
}

export function decodeBackupNote(value: Bytes): BackupNote {
  const fields = new Fields(value);
  const [start, end, floor] = [fields.bytes(), fields.bytes(), fields.number()];
  return Object.freeze({ start, end: end.length === 0 ? undefined : end, floor });
}

/** A comparison of all ranges with the stores. */
export interface VerificationRow {
  /** The process that compares. */
  readonly owner: string;
  readonly begunMicros: number;
  /** Others may go on with it when this has passed. */
  readonly leaseUntil: number;
  /** The number of keys that were read. */
  readonly keys: number;
  /** Undefined: nothing was compared. */
  readonly until: ComparedUntil | undefined;
  readonly findings: readonly Finding[];
}

export function encodeVerificationRow(row: VerificationRow): Bytes {
  const { owner, begunMicros, leaseUntil, keys, until, findings } = row;
  const times = [begunMicros, leaseUntil, keys] as const;
  return encodeTuple([
    owner,
    ...times,
    JSON.stringify(findings.map(written)),
    ...(until === undefined ? [] : [until.store, until.key ?? noBytes]),
  ]);
}

export function decodeVerificationRow(value: Bytes): VerificationRow {
  const fields = new Fields(value);
  const owner = fields.text();
  const [begunMicros, leaseUntil, keys] = [fields.number(), fields.number(), fields.number()];
  const findings = findingsOf(fields.text());
  const until = fields.areLeft ? untilOf(fields.text(), fields.bytes()) : undefined;
  return Object.freeze({ owner, begunMicros, leaseUntil, keys, until, findings });
}

function untilOf(store: string, key: Bytes): ComparedUntil {
  return { store, key: key.length === 0 ? undefined : key };
}

/** A finding as it is written: its keys in hexadecimal digits. */
type WrittenFinding =
  | Exclude<Finding, { readonly first: Bytes } | NotCompared>
  | (Omit<Extract<Finding, { readonly first: Bytes }>, 'first'> & { readonly first: string })
  | (Omit<NotCompared, 'start' | 'end'> & { readonly start: string; readonly end: string });

function written(finding: Finding): WrittenFinding {
  switch (finding.kind) {
    case 'stray data':
      return { ...finding, first: hexOf(finding.first) };
    case 'not compared':
      return { ...finding, start: hexOf(finding.start), end: hexOf(finding.end) };
    default:
      return finding;
  }
}

function findingOf(found: WrittenFinding): Finding {
  switch (found.kind) {
    case 'stray data':
      return { ...found, first: Buffer.from(found.first, 'hex') };
    case 'not compared':
      return {
        ...found,
        start: Buffer.from(found.start, 'hex'),
        end: Buffer.from(found.end, 'hex'),
      };
    default:
      return found;
  }
}

function hexOf(key: Bytes): string {
  return Buffer.from(key).toString('hex');
}

function findingsOf(text: string): readonly Finding[] {
  return (JSON.parse(text) as readonly WrittenFinding[]).map(findingOf);
}

export function encodeMemberRow({ space, name, admission }: MemberRow): Bytes {
  return encodeTuple([space, name, admission]);
}

export function decodeMemberRow(value: Bytes): MemberRow {
  const fields = new Fields(value);
  const [space, name] = [fields.text(), fields.text()];
  return Object.freeze({ space, name, admission: fields.text() });
}

export function encodeStoreRow({ name, state, location, admission }: StoreRow): Bytes {
  return encodeTuple([name, state, location, admission]);
}

export function decodeStoreRow(value: Bytes): StoreRow {
  const fields = new Fields(value);
  const [name, state] = [fields.text(), fields.choice(storeStates)];
  const [location, admission] = [fields.text(), fields.text()];
  return Object.freeze({ name, state, location, admission });
}

export function encodeLostRow({ name, location }: LostRow): Bytes {
  return encodeTuple([name, location]);
}

export function decodeLostRow(value: Bytes): LostRow {
  const fields = new Fields(value);
  return Object.freeze({ name: fields.text(), location: fields.text() });
}

export function encodeMapRow({ version, nextId }: MapRow): Bytes {
  return encodeTuple([version, nextId]);
}

export function decodeMapRow(value: Bytes): MapRow {
  const fields = new Fields(value);
  return Object.freeze({ version: fields.number(), nextId: fields.number() });
}

export function encodeRangeRow({ id, start, end, store, epoch, operation }: RangeRow): Bytes {
  return encodeTuple([id, start, end ?? noBytes, store, epoch, operation]);
}

export function decodeRangeRow(value: Bytes): RangeRow {
  const fields = new Fields(value);
  const [id, start, end] = [fields.number(), fields.bytes(), fields.bytes()];
  return Object.freeze({
    id,
    start,
    end: end.length === 0 ? undefined : end,
    store: fields.text(),
    epoch: fields.number(),
    operation: fields.number(),
  });
}

export function encodeGuardRow({ state, epoch, operation, token }: GuardRow): Bytes {
  return encodeTuple([state, epoch, operation, token]);
}

export function decodeGuardRow(value: Bytes): GuardRow {
  const fields = new Fields(value);
  return Object.freeze({
    state: fields.choice(guardStates),
    epoch: fields.number(),
    operation: fields.number(),
    token: fields.number(),
  });
}

const operationKinds = ['move', 'split', 'merge', 'backup', 'restore'] as const;

export function encodeOperationRow(row: OperationRow): Bytes {
  const { kind, id, token, leaseUntil } = row;
  return encodeTuple([kind, id, token, leaseUntil, ...ownFields(row)]);
}

function ownFields(row: OperationRow): TupleElement[] {
  switch (row.kind) {
    case 'move':
      return [row.step, row.range, row.source, row.target, row.floor];
    case 'split':
      return [row.range, row.at, row.left, row.right];
    case 'merge':
      return [row.left, row.right, row.into];
    case 'backup':
    case 'restore':
      return [row.range];
    default:
      return unreachable(row);
  }
}

export function decodeOperationRow(value: Bytes): OperationRow {
  const fields = new Fields(value);
  const kind = fields.choice(operationKinds);
  const head = { id: fields.number(), token: fields.number(), leaseUntil: fields.number() };
  switch (kind) {
    case 'move':
      return Object.freeze({
        kind,
        ...head,
        step: fields.choice(moveSteps),
        range: fields.number(),
        source: fields.text(),
        target: fields.text(),
        floor: fields.number(),
      });
    case 'split':
      return Object.freeze({
        kind,
        ...head,
        range: fields.number(),
        at: fields.bytes(),
        left: fields.number(),
        right: fields.number(),
      });
    case 'merge':
      return Object.freeze({
        kind,
        ...head,
        left: fields.number(),
        right: fields.number(),
        into: fields.number(),
      });
    case 'backup':
    case 'restore':
      return Object.freeze({ kind, ...head, range: fields.number() });
    default:
      return unreachable(kind);
  }
}

/** The ids in a row of successors. */
export function encodeIds(ids: readonly number[]): Bytes {
  return encodeTuple(ids);
}

export function decodeIds(value: Bytes): readonly number[] {
  return decodeTuple(value).map((element) => {
    if (typeof element === 'number') return element;
    throw damaged();
  });
}

/** Encodes the keys of a dirty row, each with the size of its value. */
export function encodeDirtyKeys(keys: readonly SizedKey[]): Bytes {
  return encodeTuple(keys.flatMap(({ key, valueBytes }) => [key, valueBytes]));
}

export function decodeDirtyKeys(value: Bytes): readonly SizedKey[] {
  const fields = new Fields(value);
  const keys: SizedKey[] = [];
  while (fields.areLeft) keys.push({ key: fields.bytes(), valueBytes: fields.number() });
  return keys;
}

/** Takes the fields of a row one after the other. */
class Fields {
  readonly #left: TupleElement[];

  constructor(value: Bytes) {
    this.#left = decodeTuple(value);
  }

  get areLeft(): boolean {
    return this.#left.length > 0;
  }

  number(): number {
    const field = this.#left.shift();
    if (typeof field !== 'number') throw damaged();
    return field;
  }

  text(): string {
    const field = this.#left.shift();
    if (typeof field !== 'string') throw damaged();
    return field;
  }

  bytes(): Bytes {
    const field = this.#left.shift();
    if (typeof field !== 'object') throw damaged();
    return field;
  }

  choice<Choice extends string>(choices: readonly Choice[]): Choice {
    const text = this.text();
    const found = choices.find((choice) => choice === text);
    if (found === undefined) throw damaged();
    return found;
  }
}

function damaged(): StoreDamagedError {
  return new StoreDamagedError('A row of the partition layer does not have the form it must have.');
}

const noBytes: Bytes = Buffer.alloc(0);
