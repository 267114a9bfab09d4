import { systemClock, type Clock } from '../../../base/clock.js';
import { own } from '../../../base/own.js';
import { systemRandomness, type Randomness } from '../../../base/randomness.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { MergeOf } from '../../definition/shapes.js';
import { etagOf, timestampOf, type Stored } from '../../definition/stored-entity.js';
import { ticksOfMicros } from '../../rows/ticks.js';
import { DecodeError, DefinitionError, ValueError } from '../../rows/model-error.js';
import { isConflict } from '../../table/contention.js';
import { Entities } from '../../table/entities.js';
import { EntityExistsError } from '../../table/errors.js';
import { absentEntityError } from '../../table/refusals.js';
import { unlessConflict, unlessPresent } from '../../table/conditional-write.js';
import type { TableGateway } from '../../table/gateway.js';
import type {
  GroupOf,
  WideChangesOf,
  WideCreateOf,
  WideKeyOf,
  WidePartOf,
  WideReadOf,
} from '../wide-entities/wide-definition.js';
import { splitPair, splitState, type VerticalDefinition } from './vertical-definition.js';

type Values = Readonly<Record<string, unknown>>;

/** What `verify` finds. */
export interface SplitFault {
  /**
   * `unfinished`: an insert that was never acknowledged. `orphan`: a half without its entity, which
   * an insert or a delete has left. `torn`: an entity that lacks a half, such as after the table of
   * that was restored; nothing can make it again.
   */
  readonly kind: 'orphan' | 'torn' | 'unfinished';
  readonly group: string;
  /** The values of the keys. */
  readonly key: Values;
  /** Whether it was deleted. */
  readonly isRepaired: boolean;
}

export interface SplitVerifyOptions {
  /** Deletes orphans and unfinished inserts; false when absent. */
  readonly repair?: boolean;
  /**
   * Rows that changed more recently are left alone, in milliseconds: their insert may be running.
   * An hour when absent; more than the clocks of program and service differ.
   */
  readonly graceMs?: number;
  readonly onFault?: (fault: SplitFault) => void;
}

export interface VerticalEntitiesOptions {
  /** The system's when absent. */
  readonly clock?: Clock;
  readonly randomness?: Randomness;
}

const graceDefaultMs = 3_600_000;
const readsMax = 5;
const making = 'making';

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
  }

  /**
   * An insert of the leader, one of each other group, and a merge of the leader. Throws
   * `EntityExistsError` when the entity exists, or its insert is under way or was killed: see
   * `verify`.
   */
  async insert(entity: WideCreateOf<W>): Promise<void> {
    const pair = this.#randomness.uuid();
    const leader = this.#leader();
    const values = this.#valuesOf(this.definition.leader, entity, pair);
    const made = await leader.insert({ ...values, [splitState]: making });
    for (const [group, entities] of this.#halves()) {
      await this.#putHalf(entities, this.#valuesOf(group, entity, pair), pair);
    }
    const { [splitState]: _, ...whole } = made as Values;
    await leader.replace(whole, { ifMatch: etagOf(made) });
  }

  /**
   * The whole entity: one point read of each group. Halves of different moments may be together;
   * those of different entities with one key are not. Throws `DecodeError` for one without a half.
   */
  get(key: WideKeyOf<W>): Promise<WideReadOf<W> | undefined>;
  /**
   * Some groups: one point read for each. Without the leader, of an entity that is being inserted
   * as well.
   */
  get<const N extends GroupOf<W>>(
    key: WideKeyOf<W>,
    options: { readonly groups: readonly N[] },
  ): Promise<WidePartOf<W, N> | undefined>;
  async get(
    key: WideKeyOf<W>,
    { groups = [...this.#groups.keys()] }: { readonly groups?: readonly string[] } = {},
  ): Promise<object | undefined> {
    for (let reads = 1; ; reads += 1) {
      const found = await Promise.all(groups.map((group) => this.#group(group).get(key)));
      const leads = groups.indexOf(this.definition.leader);
      const leader = leads < 0 ? found.find((half) => half !== undefined) : found[leads];
      if (leader === undefined || own(leader as Values, splitState) === making) return undefined;
      const pair = pairOf(leader);
      const isWhole = found.every((half) => half !== undefined && pairOf(half) === pair);
      if (isWhole) return joined(found);
      // It was deleted, or deleted and inserted, between the reads.
      if (reads < readsMax) continue;
      const lacking = groups.filter((_, at) => pairOf(found[at]) !== pair);
      throw new DecodeError(
        `${this.definition.type}: the entity lacks its half in ${lacking.join(', ')}; see verify()`,
      );
    }
  }

  /**
   * Changes properties: one merge for each of their groups, not atomic over groups. Throws
   * `EntityNotFoundError` when a half is absent.
   */
  async merge(key: WideKeyOf<W>, changes: WideChangesOf<W>): Promise<void> {
    const named = Object.keys(changes);
    const groups = [...this.#groups].filter(([group]) =>
      named.some((name) => own(this.definition.groups[group] ?? {}, name) !== undefined),
    );
    const known = new Set(groups.flatMap(([group]) => this.#namesOf(group)));
    const unknown = named.find((name) => !known.has(name));
    if (unknown !== undefined) {
      throw new ValueError(`${this.definition.type} has no property '${unknown}' in a group`);
    }
    for (const [group, entities] of groups) {
      const part = picked(changes, Object.keys(this.definition.groups[group] ?? {}));
      await entities.merge(key, part as MergeOf<AnyDefinition>, { ifMatch: 'any' });
    }
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
   * Finds what does not belong together, and with `repair` deletes what is no entity. Range reads
   * of all tables, a point read for each entity of each other group, and a write for each repair.
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
    for await (const row of this.#leader().scanTable()) {
      if (!isSettled(row)) continue;
      const key = picked(row, Object.keys(this.definition.keys));
      const isMaking = own(row as Values, splitState) === making;
      for (const [group, entities] of this.#halves()) {
        if (isMaking || pairOf(await entities.get(key)) === pairOf(row)) continue;
        // It may have been deleted meanwhile.
        const now = await this.#leader().get(key);
        if (now === undefined || etagOf(now) !== etagOf(row)) continue;
        tell({ kind: 'torn', group, key, isRepaired: false });
      }
      if (!isMaking) continue;
      const isRepaired = repair && (await unlessConflict(() => deleted(this.#leader(), row)));
      tell({ kind: 'unfinished', group: this.definition.leader, key, isRepaired });
    }
    for (const [group, entities] of this.#halves()) {
      for await (const row of entities.scanTable()) {
        const key = picked(row, Object.keys(this.definition.keys));
        if (!isSettled(row) || pairOf(await this.#leader().get(key)) === pairOf(row)) continue;
        const isRepaired = repair && (await unlessConflict(() => deleted(entities, row)));
        tell({ kind: 'orphan', group, key, isRepaired });
      }
    }
    return faults;
  }

  /** A half that another insert has left is replaced, as long as the leader is of this one. */
  async #putHalf(entities: Entities<AnyDefinition>, values: Values, pair: string): Promise<void> {
    for (;;) {
      if ((await unlessPresent(() => entities.insert(values))) !== undefined) return;
      const found = await entities.get(values);
      if (found === undefined) continue;
      if (pairOf(found) === pair) return;
      if (pairOf(await this.#leader().get(values)) !== pair) {
        const text = `${this.definition.type}: another insert of these keys went first`;
        throw new EntityExistsError(text, { status: 409, code: 'EntityAlreadyExists' });
      }
      try {
        await entities.replace(values, { ifMatch: etagOf(found) });
        return;
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
    }
  }

  #valuesOf(group: string, entity: Values, pair: string): Values {
    const names = [...Object.keys(this.definition.keys), ...this.#namesOf(group)];
    return { ...picked(entity, names), [splitPair]: pair };
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

/** Empty for a row that is not there. */
function pairOf(row: object | undefined): string {
  const pair = row === undefined ? undefined : own(row as Values, splitPair);
  return typeof pair === 'string' ? pair : '';
}

/** Without what a read carries for writes, which go to several rows. */
function joined(halves: readonly (object | undefined)[]): object {
  const entries = halves.flatMap((half) => Object.entries(half ?? {}));
  return Object.fromEntries(entries.filter(([name]) => name !== splitPair && name !== splitState));
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
