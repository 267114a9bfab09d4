import { systemClock, type Clock } from '../../../base/clock.js';
import { own } from '../../../base/own.js';
import { systemRandomness, type Randomness } from '../../../base/randomness.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { MergeOf } from '../../definition/shapes.js';
import { etagOf, timestampOf, type Stored } from '../../definition/stored-entity.js';
import { ticksOfMicros } from '../../rows/ticks.js';
import { DecodeError, DefinitionError, ValueError } from '../../rows/model-error.js';
import { Entities } from '../../table/entities.js';
import { absentEntityError } from '../../table/refusals.js';
import { unlessConflict } from '../../table/conditional-write.js';
import type { TableGateway } from '../../table/gateway.js';
import type {
  GroupOf,
  WideChangesOf,
  WideCreateOf,
  WideKeyOf,
  WidePartOf,
  WideReadOf,
} from '../wide-entities/wide-definition.js';
import { halvesByKey } from './split-scan.js';
import { keyOfHalf, partsOf } from './split-change.js';
import { SplitChanges } from './split-changes.js';
import { isMaking, pairOf, SplitInsert } from './split-insert.js';
import {
  splitChanges,
  splitPair,
  splitState,
  type VerticalDefinition,
} from './vertical-definition.js';

type Values = Readonly<Record<string, unknown>>;

/** What `verify` finds. */
export interface SplitFault {
  /**
   * `unfinished`: an insert that was never acknowledged. `orphan`: a half without its entity, which
   * an insert or a delete has left. `changing`: a change of several groups that was never
   * acknowledged. `torn`: an entity that lacks a half, such as after the table of that was restored;
   * nothing can make it again.
   */
  readonly kind: 'changing' | 'orphan' | 'torn' | 'unfinished';
  readonly group: string;
  /** The values of the keys. */
  readonly key: Values;
  /** Whether it was deleted; of a change whether it was ended, or taken back. */
  readonly isRepaired: boolean;
}

export interface SplitVerifyOptions {
  /** Deletes orphans and unfinished inserts, and ends changes; false when absent. */
  readonly repair?: boolean;
  /**
   * Rows that changed more recently are left alone, in milliseconds: their insert may be running.
   * An hour when absent; more than the clocks of program and service differ.
   */
  readonly graceMs?: number;
  readonly onFault?: (fault: SplitFault) => void;
}

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

const graceDefaultMs = 3_600_000;
const readsMax = 5;
const ownNames: ReadonlySet<string> = new Set([splitChanges, splitPair, splitState]);

/**
 * Entities whose properties are in several tables. An entity exists from when its leader says that
 * all halves are there; whatever an insert or a delete leaves when it is killed is no entity, and
 * `verify` deletes it. What a secret group holds is written to its own table alone.
 */
export class VerticalEntities<W extends VerticalDefinition> {
  readonly definition: W;
  readonly #groups: ReadonlyMap<string, Entities<AnyDefinition>>;
  readonly #clock: Clock;
  readonly #randomness: Randomness;
  readonly #changes: SplitChanges;
  readonly #inserts: SplitInsert;

  /** Throws `DefinitionError` for groups without a table. Sends nothing. */
  constructor(
    definition: W,
    tables: Readonly<Record<GroupOf<W>, TableGateway>>,
    { clock = systemClock, randomness = systemRandomness }: VerticalEntitiesOptions = {},
  ) {
    this.definition = definition;
    const groups = [...definition.rows].map(([group, row]) => {
      const table = own<TableGateway>(tables, group);
      if (table === undefined) throw new DefinitionError(`the group '${group}' has no table`);
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
   * An insert of the leader, one of each other group, and an update of the leader. What an insert
   * has left that was killed is written over, with a read and an update for each row. Of inserts at
   * the same time one succeeds. Throws `EntityExistsError` when the entity exists, or another
   * insert of it went first.
   */
  async insert(entity: WideCreateOf<W>): Promise<void> {
    const pair = this.#randomness.uuid();
    const made = await this.#inserts.claim(this.#valuesOf(this.definition.leader, entity, pair));
    for (const [group, entities] of this.#halves()) {
      await this.#inserts.putHalf(entities, this.#valuesOf(group, entity, pair));
    }
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
   * reads of `get` besides, and as it, throws `DecodeError` for an entity that lacks a half. Holds a
   * page of each group. Nothing is sent before it is iterated.
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
   * leaves none of it, or what `verify` ends; a read meanwhile may show one half before the other. A
   * property that others change at the same time keeps their value. A read and a write of the
   * leader then, and of each other group a read, a write and a transaction. Throws
   * `EntityNotFoundError` when a half is absent, and `ContentionError` when others are faster at all
   * attempts.
   */
  async merge(key: WideKeyOf<W>, changes: WideChangesOf<W>): Promise<void> {
    const parts = this.#parts(changes).map(([group, part]) => {
      const entities = this.#group(group);
      const row = entities.codec.toMergeRow(key, part as MergeOf<AnyDefinition>);
      return { group: [group, entities] as const, part, row };
    });
    const [first] = parts;
    if (first === undefined) return;
    if (parts.length === 1) {
      const { group, part } = first;
      await group[1].merge(key, part as MergeOf<AnyDefinition>, { ifMatch: 'any' });
      return;
    }
    const { leader } = this.definition;
    const led = parts.find(({ group }) => group[0] === leader);
    const halves = parts.filter((each) => each !== led);
    // Refuses now what the leader cannot be given later.
    this.#leader().codec.toMergeRow(key, (led?.part ?? {}) as MergeOf<AnyDefinition>);
    await this.#changes.make(key, led?.part ?? {}, halves);
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
  async verify(options: SplitVerifyOptions = {}): Promise<readonly SplitFault[]> {
    const { repair = false, graceMs = graceDefaultMs, onFault } = options;
    const faults: SplitFault[] = [];
    const before = ticksOfMicros(this.#clock.nowMicros() - graceMs * 1000);
    const isSettled = (row: object) => (timestampOf(row)?.ticks ?? 0n) <= before;
    const tell = (fault: SplitFault): void => {
      faults.push(Object.freeze(fault));
      onFault?.(fault);
    };
    for (const group of this.#halves()) {
      for await (const part of partsOf(group[1].table)) {
        if (part.row.timestamp > before) continue;
        const key = picked(group[1].codec.parseKey(keyOfHalf(part)), this.#keyNames());
        if (repair) await this.#changes.settle(group, part);
        tell({ kind: 'changing', group: group[0], key, isRepaired: repair });
      }
    }
    for await (const row of this.#leader().scanTable()) {
      if (!isSettled(row)) continue;
      const key = picked(row, this.#keyNames());
      const isUnfinished = isMaking(row);
      for (const [group, entities] of this.#halves()) {
        if (isUnfinished || pairOf(await entities.get(key)) === pairOf(row)) continue;
        // It may have been deleted meanwhile.
        const now = await this.#leader().get(key);
        if (now === undefined || etagOf(now) !== etagOf(row)) continue;
        tell({ kind: 'torn', group, key, isRepaired: false });
      }
      if (!isUnfinished) continue;
      const isRepaired = repair && (await unlessConflict(() => deleted(this.#leader(), row)));
      tell({ kind: 'unfinished', group: this.definition.leader, key, isRepaired });
    }
    for (const [group, entities] of this.#halves()) {
      for await (const row of entities.scanTable()) {
        const key = picked(row, this.#keyNames());
        if (!isSettled(row) || pairOf(await this.#leader().get(key)) === pairOf(row)) continue;
        const isRepaired = repair && (await unlessConflict(() => deleted(entities, row)));
        tell({ kind: 'orphan', group, key, isRepaired });
      }
    }
    return faults;
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
      // It was deleted, or deleted and inserted, between the reads; or only the leader can tell
      // that it is no entity.
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
    return new DecodeError(
      `${this.definition.type}: the entity lacks its half in ${lacking.join(', ')}; see verify()`,
    );
  }

  /** The half that says that there is an entity; undefined: there is none, as far as is read. */
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
      .map((group) => [group, picked(changes, this.#namesOf(group))] as const)
      .filter(([, part]) => Object.values(part).some((value) => value !== undefined));
  }

  #valuesOf(group: string, entity: Values, pair: string): Values {
    const names = [...this.#keyNames(), ...this.#namesOf(group)];
    return { ...picked(entity, names), [splitPair]: pair };
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

async function deleted(entities: Entities<AnyDefinition>, row: Stored<object>): Promise<boolean> {
  await entities.delete(row);
  return true;
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

function picked(values: object, names: readonly string[]): Values {
  const entries = names
    .filter((name) => Object.hasOwn(values, name))
    .map((name) => [name, (values as Values)[name]] as const);
  return Object.fromEntries(entries);
}

/** The entities of a definition that is split over tables. Sends nothing. */
export function verticalEntitiesOf<W extends VerticalDefinition>(
  definition: W,
  tables: Readonly<Record<GroupOf<W>, TableGateway>>,
  options?: VerticalEntitiesOptions,
): VerticalEntities<W> {
  return new VerticalEntities(definition, tables, options);
}
