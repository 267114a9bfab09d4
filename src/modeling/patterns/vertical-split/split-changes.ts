import { own, setOwn } from '../../../base/own.js';
import type { Randomness } from '../../../base/randomness.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import { etagOf, type Stored } from '../../definition/stored-entity.js';
import { DecodeError, ModelError } from '../../rows/model-error.js';
import type { StoredRow } from '../../rows/row.js';
import { placeOfKey, textIn } from '../../rows/row-parts.js';
import { putOver, transactIf, unlessConflict, writeIf } from '../../table/conditional-write.js';
import { isConflict, retryConflicts } from '../../table/contention.js';
import type { Entities } from '../../table/entities.js';
import { ConditionFailedError } from '../../table/errors.js';
import type { TableGateway } from '../../table/gateway.js';
import { absentEntityError } from '../../table/refusals.js';
import {
  applyingWrites,
  deletingWrite,
  keyOfHalf,
  partOf,
  partRow,
  type HalfChange,
  type PendingPart,
} from './split-change.js';
import { pairOf } from './split-insert.js';
import { splitChanges, splitPair, splitState } from './vertical-definition.js';

type Values = Readonly<Record<string, unknown>>;
/** A group by its name. */
export type Group = readonly [name: string, entities: Entities<AnyDefinition>];

export interface SplitChangesOptions {
  readonly type: string;
  readonly leader: Entities<AnyDefinition>;
  readonly randomness: Randomness;
}

/** The change of the row of a group. */
export interface GroupChange {
  readonly group: Group;
  /** Sends nothing. `half` is as it was read. */
  readonly changeOf: (half: StoredRow) => HalfChange;
}

/** A change of an entity. */
export interface SplitChange {
  /** Names it in errors. */
  readonly what: 'merge' | 'replace';
  readonly key: Values;
  /** The new leader, which may be unchanged. */
  readonly leader: (head: Stored<object>) => Values;
  readonly halves: readonly GroupChange[];
}

interface PreparedPart {
  readonly group: Group;
  readonly part: PendingPart;
  /** As it was read; absent: it is read again. */
  readonly half?: StoredRow;
}

type ReadPart = Required<PreparedPart>;

/** By group, the last change of several groups that counts. */
type LastChanges = Record<string, string>;

/** Another change of the half is under way. */
class ChangeUnderWayError extends ModelError {
  override readonly name = 'ChangeUnderWayError';
}

/** Attempts that wait for the change of another program before it is taken back; about a second. */
const patienceAttempts = 8;

/**
 * Changes of several groups of one entity, which happen as a whole or not at all:
 *
 * 1. Each half gets a row beside it with its part of the change.
 * 2. The leader is changed, under the ETag that it was read with before, and names the change for
 *    each of these groups. From then on the change counts.
 * 3. Each half gets its part, and the row beside it goes, in one transaction.
 *
 * A program that finds a part applies it when the leader names it. Otherwise it writes the leader,
 * so that no program can name the change any more, and deletes the part.
 */
export class SplitChanges {
  readonly #options: SplitChangesOptions;

  constructor(options: SplitChangesOptions) {
    this.#options = options;
  }

  /**
   * Makes a change as a whole. Sends a read and a write of the leader, and for each half a read, a
   * write and a transaction. Throws `EntityNotFoundError` when there is no entity. For an entity
   * that lacks a half, a merge throws `EntityNotFoundError` and a replace throws `DecodeError`.
   */
  async make(change: SplitChange): Promise<void> {
    const { type, randomness } = this.#options;
    const id = randomness.uuid();
    const names = change.halves.map(({ group }) => group[0]);
    let attempts = 0;
    const attempt = async (): Promise<readonly PreparedPart[]> => {
      attempts += 1;
      const head = await this.#head(change.key);
      const named = changesIn(head);
      if (names.some((name) => own(named, name) === id)) return this.#prepared(change, id);
      const halves: ReadPart[] = [];
      for (const each of change.halves) {
        halves.push(await this.#half(change, each, { id, head }));
      }
      const prepared: ReadPart[] = [];
      for (const half of halves) {
        prepared.push(await this.#prepare(half, attempts <= patienceAttempts));
      }
      for (const name of names) setOwn(named, name, id);
      await this.#name(head, named, change.leader(head));
      return prepared;
    };
    const what = `${type}: ${change.what}`;
    const parts = await retryConflicts(what, { randomness }, attempt, isOvertaken);
    for (const { group, half, part } of parts) await this.#apply(group[1], part, half);
  }

  /** Ends an abandoned change: applies a part, or takes it back. */
  async settle([name, entities]: Group, part: PendingPart): Promise<void> {
    const { leader } = this.#options;
    const key = entities.codec.parseKey(keyOfHalf(part));
    for (;;) {
      const head = await leader.get(key);
      if (head === undefined || pairOf(head) !== part.pair) break;
      const named = changesIn(head);
      if (own(named, name) === part.id) return this.#apply(entities, part);
      // This write changes the ETag of the leader, so a program that read it before can no longer
      // name the change.
      const isTakenBack = await unlessConflict(async () => {
        await this.#name(head, named, head);
        return true;
      });
      if (isTakenBack) break;
    }
    await writeIf(entities.table, deletingWrite(part));
  }

  async #head(key: Values): Promise<Stored<object>> {
    const { type, leader } = this.#options;
    const head = await leader.get(key);
    if (head !== undefined && own(head as Values, splitState) === undefined) return head;
    throw absentEntityError(type, leader.codec.key(key));
  }

  /**
   * Replaces the leader under its ETag. A merge would be refused where one of its properties is
   * encrypted.
   */
  async #name(head: Stored<object>, named: LastChanges, next: Values): Promise<void> {
    const { leader } = this.#options;
    const pair = pairOf(head);
    const whole = { ...next, [splitPair]: pair, [splitChanges]: JSON.stringify(named) };
    await leader.replace(whole, { ifMatch: etagOf(head) });
  }

  /** The present half, and its part of the change. */
  async #half(
    { what, key }: SplitChange,
    { group, changeOf }: GroupChange,
    { id, head }: { readonly id: string; readonly head: Stored<object> },
  ): Promise<ReadPart> {
    const [name, { table, codec }] = group;
    const pair = pairOf(head);
    const half = await table.get(codec.key(key));
    if (half === undefined || textIn(half.properties, splitPair) !== pair) {
      if (what === 'replace') await this.#refuseTorn(name, head);
      throw absentEntityError(`${this.#options.type}.${name}`, codec.key(key));
    }
    const row = { ...partRow(half, changeOf(half), { id, pair }), etag: '', timestamp: 0n };
    return { group, half, part: { row, id, pair } };
  }

  /**
   * Throws `DecodeError` when the entity is still the one that was read. Returns when it was
   * deleted or replaced by another entity meanwhile.
   */
  async #refuseTorn(group: string, head: Stored<object>): Promise<void> {
    const { type, leader } = this.#options;
    const now = await leader.get(head);
    if (now === undefined || pairOf(now) !== pairOf(head)) return;
    throw tornError(type, [group]);
  }

  /** Writes a part beside its half. Throws `ChangeUnderWayError` where there is another one. */
  async #prepare(prepared: ReadPart, isPatient: boolean): Promise<ReadPart> {
    const { group, half, part } = prepared;
    const written = await putPart(group[1].table, part, undefined);
    if (written !== undefined) return { ...prepared, part: written };
    const other = await partOf(group[1].table, half);
    if (other?.id === part.id) {
      // The part is from an earlier attempt of this change, which the leader does not name yet.
      const again = await putPart(group[1].table, part, other.row.etag);
      if (again !== undefined) return { ...prepared, part: again };
    } else if (other !== undefined && !isPatient) {
      await this.settle(group, other);
    }
    throw new ChangeUnderWayError(`${placeOfKey(half)} is changed by others`);
  }

  /** The parts of a named change that are still to be applied. */
  async #prepared({ key, halves }: SplitChange, id: string): Promise<readonly PreparedPart[]> {
    const found: PreparedPart[] = [];
    for (const { group } of halves) {
      const [, { table, codec }] = group;
      const part = await partOf(table, codec.key(key));
      if (part?.id === id) found.push({ group, part });
    }
    return found;
  }

  /** Does nothing when another program has applied the part. */
  async #apply(
    entities: Entities<AnyDefinition>,
    part: PendingPart,
    read?: StoredRow,
  ): Promise<void> {
    const { table } = entities;
    const key = keyOfHalf(part);
    const attempt = async (known: StoredRow | undefined): Promise<boolean> => {
      const half = known ?? (await table.get(key));
      const isOf = half !== undefined && textIn(half.properties, splitPair) === part.pair;
      return isOf
        ? transactIf(table, applyingWrites(part, half))
        : writeIf(table, deletingWrite(part));
    };
    if (await attempt(read)) return;
    await retryConflicts(
      `ending a change of '${key.rowKey}'`,
      this.#options,
      async () => {
        if ((await partOf(table, key))?.id !== part.id || (await attempt(undefined))) return;
        throw new ChangeUnderWayError(`'${key.rowKey}' changes all the time`);
      },
      isUnderWay,
    );
  }
}

/** Over the one with this ETag; undefined when that has changed, or is there. */
async function putPart(
  table: TableGateway,
  part: PendingPart,
  before: string | undefined,
): Promise<PendingPart | undefined> {
  const { partitionKey, rowKey, properties, encrypt = [] } = part.row;
  const put = putOver({ partitionKey, rowKey, properties, encrypt }, before);
  try {
    const { etag = '' } = await table.write(put);
    return { ...part, row: { ...part.row, etag } };
  } catch (error) {
    if (isConflict(error)) return undefined;
    throw error;
  }
}

function isUnderWay(error: unknown): boolean {
  return error instanceof ChangeUnderWayError;
}

function isOvertaken(error: unknown): boolean {
  return isUnderWay(error) || error instanceof ConditionFailedError;
}

/** An entity lacks halves, such as after a table was restored. */
export function tornError(type: string, groups: readonly string[]): DecodeError {
  return new DecodeError(
    `${type}: the entity lacks its half in ${groups.join(', ')}; see verify()`,
  );
}

function changesIn(head: object): LastChanges {
  const text = own(head as Values, splitChanges);
  if (typeof text !== 'string') return {};
  const found: unknown = JSON.parse(text);
  if (typeof found !== 'object' || found === null || Array.isArray(found)) {
    throw new DecodeError(`the leader names its changes as '${text}'`);
  }
  return Object.fromEntries(
    Object.entries(found).filter((each): each is [string, string] => typeof each[1] === 'string'),
  );
}
