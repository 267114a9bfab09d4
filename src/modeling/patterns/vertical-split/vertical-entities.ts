import { systemClock, type Clock } from '../../../base/clock.js';
import { own } from '../../../base/own.js';
import { systemRandomness, type Randomness } from '../../../base/randomness.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { MergeOf } from '../../definition/shapes.js';
import { refuseUnknownNames } from '../../definition/unknown-name.js';
import { storedAs } from '../../definition/stored-entity.js';
import type { Row, StoredRow } from '../../rows/row.js';
import { type DecodeError, DefinitionError, ValueError } from '../../rows/model-error.js';
import { EncryptionError } from '../../encryption/encryption-error.js';
import { Entities } from '../../table/entities.js';
import { absentEntityError } from '../../table/refusals.js';
import { unlessConflict, writeIfPresent } from '../../table/conditional-write.js';
import { retryConflicts } from '../../table/contention.js';
import { withEncryptedNames } from '../../table/encrypted-names.js';
import { EntityExistsError } from '../../table/errors.js';
import type { TableGateway } from '../../table/gateway.js';
import {
  type GroupOf,
  type WideChangesOf,
  type WideCreateOf,
  type WideKeyOf,
  type WidePartOf,
  type WideReadOf,
  withKeys,
} from '../wide-entities/wide-definition.js';
import { halvesByKey } from './split-scan.js';
import { changeBetween, type HalfChange } from './split-change.js';
import { SplitChanges, tornError } from './split-changes.js';
import { isMaking, pairOf, SplitInsert } from './split-insert.js';
import {
  deleted,
  picked,
  verifySplit,
  type SplitFault,
  type SplitVerifyOptions,
} from './split-verify.js';
import {
  splitChanges,
  splitPair,
  splitState,
  type VerticalDefinition,
} from './vertical-definition.js';

type Values = Readonly<Record<string, unknown>>;

/** What is read: groups, or properties; all when neither is said. */
interface SplitSelection {
  readonly groups?: readonly string[];
  readonly select?: readonly string[];
}

/** Some properties of an entity, and those of its keys. */
export type SplitPicked<W extends VerticalDefinition, N extends keyof WideReadOf<W>> = Pick<
  WideReadOf<W>,
  N | (keyof WideKeyOf<W> & keyof WideReadOf<W>)
>;

export interface VerticalEntitiesOptions {
  /** The system's when absent. */
  readonly clock?: Clock;
  readonly randomness?: Randomness;
}

const readsMax = 5;
const ownNames: ReadonlySet<string> = new Set([splitChanges, splitPair, splitState]);

/**
 * Entities whose properties are in several tables. An entity exists from when its leader says that
 * all halves are there; whatever an insert or a delete leaves when it is killed is no entity, and
 * `verify` deletes it. The properties of a secret group are written to its own table alone.
 */
export class VerticalEntities<W extends VerticalDefinition> {
  readonly definition: W;
  readonly #groups: ReadonlyMap<string, Entities<AnyDefinition>>;
  readonly #clock: Clock;
  readonly #randomness: Randomness;
  readonly #changes: SplitChanges;
  readonly #inserts: SplitInsert;

  /**
   * Throws `DefinitionError` for groups without a table, and for two with one table. Sends nothing.
   */
  constructor(
    definition: W,
    tables: Readonly<Record<GroupOf<W>, TableGateway>>,
    { clock = systemClock, randomness = systemRandomness }: VerticalEntitiesOptions = {},
  ) {
    this.definition = definition;
    const used = new Map<TableGateway, string>();
    const groups = [...definition.rows].map(([group, row]) => {
      const table = own<TableGateway>(tables, group);
      if (table === undefined) throw new DefinitionError(`the group '${group}' has no table`);
      const other = used.get(table);
      if (other !== undefined) {
        throw new DefinitionError(
          `the groups '${other}' and '${group}' have one table, where each would be the row of the ` +
            'other; give each a table',
        );
      }
      used.set(table, group);
      return [group, new Entities(row, table, { randomness })] as const;
    });
    this.#groups = new Map(groups);
    this.#clock = clock;
    this.#randomness = randomness;
    const tools = { type: definition.type, leader: this.#leader(), randomness };
    this.#changes = new SplitChanges(tools);
    this.#inserts = new SplitInsert(tools);
  }

  /**
   * An insert of the leader, one of each other group, and an update of the leader. Rows that a
   * killed insert has left are overwritten, with a read and an update for each. Of inserts at the
   * same time one succeeds. Throws `EntityExistsError` when the entity exists, or another insert of
   * it went first.
   */
  async insert(entity: WideCreateOf<W>): Promise<void> {
    await this.#insert(withKeys(this.definition, entity));
  }

  async #insert(entity: Values): Promise<void> {
    const pair = { [splitPair]: this.#randomness.uuid() };
    const led = { ...this.#valuesOf(this.definition.leader, entity), ...pair };
    // Refuses now what a half cannot be given later.
    const halves = this.#halves().map(([group, entities]) => {
      const half = { ...this.#valuesOf(group, entity), ...pair };
      return [entities, entities.codec.complete(half)] as const;
    });
    const made = await this.#inserts.claim(led);
    for (const [entities, half] of halves) await this.#inserts.putHalf(entities, half);
    await this.#inserts.end(made);
  }

  /**
   * The whole entity: one point read of each group. Halves of different moments may be together;
   * those of different entities with one key are not. Throws `DecodeError` for one without a half.
   */
  get(key: WideKeyOf<W>): Promise<WideReadOf<W> | undefined>;
  /**
   * Some groups: one point read for each. Without the leader, of an entity that is being inserted
   * or deleted as well, as long as it has these halves; where it has not, the leader is read too.
   */
  get<const N extends GroupOf<W>>(
    key: WideKeyOf<W>,
    options: { readonly groups: readonly N[] },
  ): Promise<WidePartOf<W, N> | undefined>;
  /** Some properties, and those of the keys: as `get` of their groups; one at least. */
  get<const N extends keyof WideReadOf<W> & string>(
    key: WideKeyOf<W>,
    options: { readonly select: readonly N[] },
  ): Promise<SplitPicked<W, N> | undefined>;
  async get(key: WideKeyOf<W>, options: SplitSelection = {}): Promise<object | undefined> {
    const { groups, shown } = this.#selected(options);
    const found = await this.#whole(key, groups);
    return found && shown(found);
  }

  /**
   * Entities in the order of their keys, `within` the leading values of a PartitionKey if given.
   * Range reads of the tables of their groups, side by side; where halves do not match the point
   * reads of `get` besides, and as it, throws `DecodeError` for an entity that lacks a half. Holds
   * a page of each group. Nothing is sent before it is iterated.
   */
  scan(within?: Partial<WideKeyOf<W>>): AsyncIterable<WideReadOf<W>>;
  /** Some groups. Without the leader, entities that are being inserted or deleted, as `get`. */
  scan<const N extends GroupOf<W>>(
    within: Partial<WideKeyOf<W>>,
    options: { readonly groups: readonly N[] },
  ): AsyncIterable<WidePartOf<W, N>>;
  /** Some properties, and those of the keys: as `scan` of their groups; one at least. */
  scan<const N extends keyof WideReadOf<W> & string>(
    within: Partial<WideKeyOf<W>>,
    options: { readonly select: readonly N[] },
  ): AsyncIterable<SplitPicked<W, N>>;
  async *scan(
    within: Partial<WideKeyOf<W>> = {},
    options: SplitSelection = {},
  ): AsyncIterable<unknown> {
    const { groups, shown } = this.#selected(options);
    const tables = groups.map((group) => this.#group(group));
    for await (const halves of halvesByKey(tables, { partitionPrefix: within })) {
      const first = halves.find((half) => half !== undefined);
      if (first === undefined) continue;
      const key = picked(first, this.#keyNames()) as WideKeyOf<W>;
      const whole = this.#joinedOf(groups, halves) ?? (await this.#whole(key, groups));
      if (whole !== undefined) yield shown(whole);
    }
  }

  /**
   * Changes properties. Those of one group by one merge. Those of several as a whole: a crash
   * leaves none of it, or what `verify` ends; a read meanwhile may show one half before the other.
   * A property that others change at the same time keeps their value. A read and a write of the
   * leader then, and of each other group a read, a write and a transaction. Throws
   * `EntityNotFoundError` when a half is absent, and `ContentionError` when others are faster at
   * all attempts.
   */
  async merge(key: WideKeyOf<W>, changes: WideChangesOf<W>): Promise<void> {
    const parts = this.#parts(changes).map(([group, part]) => {
      const entities = this.#group(group);
      const row = entities.codec.toMergeRow(key, part as MergeOf<AnyDefinition>);
      refuseMergeOfEncrypted(this.definition.type, entities, row);
      return { group: [group, entities] as const, part, row };
    });
    const [first] = parts;
    if (first === undefined) return;
    if (parts.length === 1) {
      const { group, part } = first;
      await group[1].merge(key, part as MergeOf<AnyDefinition>, { ifMatch: 'any' });
      return;
    }
    const led = parts.find(({ group }) => group[0] === this.definition.leader);
    await this.#changes.make({
      what: 'merge',
      key,
      leader: (head) => ({ ...head, ...led?.part }),
      halves: parts
        .filter((each) => each !== led)
        .map(({ group, row }) => ({ group, changeOf: () => merging(row) })),
    });
  }

  /**
   * Replaces the whole entity, whatever it is by now: what is not given gets its default, or is
   * absent. Happens as a whole, as a `merge` of several groups, with the same requests: a property
   * of another group than the leader that others change at the same time may keep their value.
   * Takes encrypted properties as well. Throws `EntityNotFoundError` when there is no
   * entity, `DecodeError` when it lacks a half, and `ContentionError` when others are faster at all
   * attempts.
   */
  async replace(entity: WideCreateOf<W>): Promise<void> {
    await this.#replace(withKeys(this.definition, entity));
  }

  async #replace(entity: Values): Promise<void> {
    const { leader } = this.definition;
    const key = picked(entity, this.#keyNames());
    const halves = this.#halves().map((group) => {
      const [name, entities] = group;
      const values = this.#valuesOf(name, entity);
      return { group, changeOf: (half: StoredRow) => replacing(entities, values, half) };
    });
    const led = this.#valuesOf(leader, entity);
    for (const [group, entities] of this.#groups) {
      // Refuses now what a group cannot be given later.
      entities.codec.toRow({ ...this.#valuesOf(group, entity), [splitPair]: '' });
    }
    await this.#changes.make({
      what: 'replace',
      key,
      leader: (head) => ({ ...led, [storedAs]: head[storedAs] }),
      halves,
    });
  }

  /**
   * `replace`, or `insert` when there is no entity, and again when others insert or delete it
   * meanwhile. A crash leaves the former entity, the new one or none. Throws `DecodeError` for an
   * entity that lacks a half, and `ContentionError` when others are faster at all attempts.
   */
  async upsertReplace(entity: WideCreateOf<W>): Promise<void> {
    const whole = withKeys(this.definition, entity);
    const attempt = async (): Promise<void> => {
      if (!(await writeIfPresent(() => this.#replace(whole)))) await this.#insert(whole);
    };
    const what = `${this.definition.type}: upsert`;
    const isThere = (error: unknown): boolean => error instanceof EntityExistsError;
    await retryConflicts(what, { randomness: this.#randomness }, attempt, isThere);
  }

  /** The leader first, then the halves. Throws `EntityNotFoundError` when there is none. */
  async delete(key: WideKeyOf<W>): Promise<void> {
    const found = await this.#leader().get(key);
    if (found === undefined) {
      throw absentEntityError(this.definition.type, this.#leader().codec.key(key));
    }
    await this.#leader().delete(found);
    for (const [, entities] of this.#halves()) await deleteHalf(entities, key, pairOf(found));
  }

  /**
   * Finds what does not belong together, and with `repair` deletes what is no entity, and ends
   * changes of several groups. Range reads of all tables, twice but of that of the leader, a point
   * read for each entity of each other group, and a write for each repair; three for a change.
   * Resumed by being called again.
   */
  verify(options: SplitVerifyOptions = {}): Promise<readonly SplitFault[]> {
    const verified = {
      leader: [this.definition.leader, this.#leader()] as const,
      halves: this.#halves(),
      changes: this.#changes,
      keyNames: this.#keyNames(),
      clock: this.#clock,
    };
    return verifySplit(verified, options);
  }

  /** The groups to read, and what is shown of them. Throws `ValueError` for what there is not. */
  #selected({ groups, select }: SplitSelection): {
    readonly groups: readonly string[];
    readonly shown: (entity: object) => object;
  } {
    if (select === undefined) {
      return { groups: groups ?? [...this.#groups.keys()], shown: (entity) => entity };
    }
    const { type } = this.definition;
    const known = new Set([
      ...this.#keyNames(),
      ...[...this.#groups.keys()].flatMap((group) => this.#namesOf(group)),
    ]);
    const unknown = select.find((name) => !known.has(name));
    if (unknown !== undefined) throw new ValueError(`${type} has no property '${unknown}'`);
    const wanted = [...this.#groups.keys()].filter((group) =>
      this.#namesOf(group).some((name) => select.includes(name)),
    );
    const names = [...this.#keyNames(), ...select];
    return {
      groups: wanted.length === 0 ? [this.definition.leader] : wanted,
      shown: (entity) => picked(entity, names),
    };
  }

  async #whole(key: WideKeyOf<W>, groups: readonly string[]): Promise<object | undefined> {
    let read = groups;
    for (let reads = 1; ; reads += 1) {
      const found = await Promise.all(read.map((group) => this.#group(group).get(key)));
      const head = this.#headOf(read, found);
      if (head === undefined) return undefined;
      if (this.#joinedOf(read, found) !== undefined) return joined(found.slice(0, groups.length));
      // The entity may have been deleted, or deleted and inserted again, between the reads. Without
      // the leader, an unfinished insert cannot be told from an entity.
      if (!read.includes(this.definition.leader)) read = [...groups, this.definition.leader];
      else if (reads >= readsMax) throw this.#tornError(read, found, head);
    }
  }

  #tornError(
    groups: readonly string[],
    halves: readonly (object | undefined)[],
    head: object,
  ): DecodeError {
    const lacking = groups.filter((_, at) => pairOf(halves[at]) !== pairOf(head));
    return tornError(this.definition.type, lacking);
  }

  /**
   * The half that shows that the entity exists: the leader, or any half when the leader was not
   * read. Undefined when the halves that were read show no entity.
   */
  #headOf(groups: readonly string[], halves: readonly (object | undefined)[]): object | undefined {
    const leads = groups.indexOf(this.definition.leader);
    const head = leads < 0 ? halves.find((half) => half !== undefined) : halves[leads];
    return isMaking(head) ? undefined : head;
  }

  /** Undefined when halves are of different entities, or absent. */
  #joinedOf(
    groups: readonly string[],
    halves: readonly (object | undefined)[],
  ): object | undefined {
    const head = this.#headOf(groups, halves);
    const pair = pairOf(head);
    const isWhole =
      head !== undefined && halves.every((half) => half !== undefined && pairOf(half) === pair);
    return isWhole ? joined(halves) : undefined;
  }

  /** The changes of each group. Throws `ValueError` for a property of none. */
  #parts(changes: WideChangesOf<W>): readonly (readonly [string, Values])[] {
    const owners = new Map(
      [...this.#groups.keys()].flatMap((group) =>
        this.#namesOf(group).map((name) => [name, group]),
      ),
    );
    const unknown = Object.keys(changes).find((name) => !owners.has(name));
    if (unknown !== undefined) {
      throw new ValueError(`${this.definition.type} has no property '${unknown}' in a group`);
    }
    return [...this.#groups.keys()]
      .map((group) => {
        const given = this.#namesOf(group).filter((name) => own(changes, name) !== undefined);
        return [group, picked(changes, given)] as const;
      })
      .filter(([, part]) => Object.keys(part).length > 0);
  }

  /** Throws `ValueError` for a property of no group. */
  #valuesOf(group: string, entity: Values): Values {
    const names = [...this.#groups.keys()].flatMap((each) => this.#namesOf(each));
    refuseUnknownNames(this.definition.type, entity, [...this.#keyNames(), ...names]);
    return picked(entity, [...this.#keyNames(), ...this.#namesOf(group)]);
  }

  #keyNames(): readonly string[] {
    return Object.keys(this.definition.keys);
  }

  #namesOf(group: string): readonly string[] {
    return Object.keys(own(this.definition.groups, group) ?? {});
  }

  #group(name: string): Entities<AnyDefinition> {
    const found = this.#groups.get(name);
    if (found !== undefined) return found;
    throw new ValueError(`${this.definition.type} has no group '${name}'`);
  }

  #leader(): Entities<AnyDefinition> {
    return this.#group(this.definition.leader);
  }

  #halves(): readonly (readonly [string, Entities<AnyDefinition>])[] {
    return [...this.#groups].filter(([group]) => group !== this.definition.leader);
  }
}

/** A merge is refused by a table that encrypts a property of it; before anything is written. */
function refuseMergeOfEncrypted(type: string, { table }: Entities<AnyDefinition>, row: Row): void {
  const [name] = table.encrypts?.(row) ?? [];
  if (name === undefined) return;
  throw new EncryptionError(`${type}.${name} is encrypted and cannot be merged. Use replace`);
}

function merging({ properties }: Row): HalfChange {
  return { properties, removed: [], encrypt: [] };
}

/** Of a half that gets these values. Keeps what newer programs have stored beside them. */
function replacing(
  { codec, table }: Entities<AnyDefinition>,
  values: Values,
  half: StoredRow,
): HalfChange {
  const before = codec.fromRow(half);
  const after = { ...values, [splitPair]: pairOf(before), [storedAs]: before[storedAs] };
  return changeBetween(half, withEncryptedNames(table, codec.toRow(after)));
}

/** Deletes a half unless it is of another entity by now. */
async function deleteHalf(
  entities: Entities<AnyDefinition>,
  key: Values,
  pair: string,
): Promise<void> {
  for (;;) {
    const found = await entities.get(key);
    if (found === undefined || pairOf(found) !== pair) return;
    if (await unlessConflict(() => deleted(entities, found))) return;
  }
}

/** Without what a read carries for writes, which go to several rows. */
function joined(halves: readonly (object | undefined)[]): object {
  const entries = halves.flatMap((half) => Object.entries(half ?? {}));
  return Object.fromEntries(entries.filter(([name]) => !ownNames.has(name)));
}

/** The entities of a definition that is split over tables. Sends nothing. */
export function verticalEntitiesOf<W extends VerticalDefinition>(
  definition: W,
  tables: Readonly<Record<GroupOf<W>, TableGateway>>,
  options?: VerticalEntitiesOptions,
): VerticalEntities<W> {
  return new VerticalEntities(definition, tables, options);
}
