import { own } from '../../../base/own.js';
import { concurrently } from '../../../base/async/concurrently.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { KeyOf, ReadOf } from '../../definition/shapes.js';
import type { Stored } from '../../definition/stored-entity.js';
import { DefinitionError } from '../../rows/model-error.js';
import { entitiesOf, type Entities } from '../../table/entities.js';
import type { TableGateway } from '../../table/gateway.js';

/** The types of a bounded context, each with its table: of the account of the context. */
export type ContextTypes = readonly (readonly [definition: AnyDefinition, table: TableGateway])[];

type Values = Readonly<Record<string, unknown>>;

/** A reference from a type to another one, perhaps of another context. */
export interface ContextReference {
  readonly name: string;
  readonly from: AnyDefinition;
  readonly to: AnyDefinition;
  /** The key of what an entity refers to; undefined: nothing. */
  readonly keyOf: (entity: object) => Values | undefined;
  /** What to do with an entity whose target is gone; absent: it is only reported. */
  readonly repair?: (entity: object) => Promise<void>;
}

/**
 * Declares a reference. `keyOf` gives the key of what an entity refers to, or undefined. `repair`
 * mends an orphan, such as by deleting it; it may be called again for the same one.
 */
export function contextReference<F extends AnyDefinition, T extends AnyDefinition>(
  name: string,
  from: F,
  to: T,
  keyOf: (entity: ReadOf<F>) => KeyOf<T> | undefined,
  repair?: (entity: Stored<ReadOf<F>>) => Promise<void>,
): ContextReference {
  return Object.freeze({
    name,
    from,
    to,
    // Entities of `from` alone are given to them.
    keyOf: keyOf as (entity: object) => Values | undefined,
    ...(repair === undefined ? {} : { repair: repair as (entity: object) => Promise<void> }),
  });
}

/** An entity that refers to one that is not there. */
export interface Orphan {
  readonly reference: string;
  /** The values of the target's key. */
  readonly target: object;
  readonly entity: object;
  readonly isRepaired: boolean;
}

export interface ReferenceCheckOptions {
  /** Called for each orphan, such as to alert somebody; before its repair. */
  readonly onOrphan?: (orphan: Orphan) => Promise<void> | void;
  /** Whether orphans are given to the `repair` of their reference; false when absent. */
  readonly repair?: boolean;
  /** Point reads at a time; 8 when absent. */
  readonly concurrency?: number;
}

export interface ReferenceReport {
  readonly checked: number;
  readonly orphans: number;
  readonly repaired: number;
}

const concurrencyDefault = 8;

/**
 * Bounded contexts by name: each with types, tables and access of its own. A type belongs to one;
 * a reporting context has them as read-only tables of a copy.
 */
export class Contexts<N extends string> {
  readonly #contexts: Readonly<Record<N, ContextTypes>>;
  readonly #references: readonly ContextReference[];

  /**
   * Throws `DefinitionError` for a type that is written by two contexts, and for a reference to a
   * type of none. Sends nothing.
   */
  constructor(
    contexts: Readonly<Record<N, ContextTypes>>,
    references: readonly ContextReference[] = [],
  ) {
    const owners = new Map<string, string>();
    for (const [name, types] of Object.entries<ContextTypes>(contexts)) {
      for (const [{ type }] of types) {
        const other = owners.get(type);
        if (other !== undefined) {
          throw new DefinitionError(
            `${type} is of the contexts '${other}' and '${name}'; give one of them a copy with a ` +
              'type of its own',
          );
        }
        owners.set(type, name);
      }
    }
    for (const { name, from, to } of references) {
      const absent = [from, to].find(({ type }) => !owners.has(type));
      if (absent === undefined) continue;
      throw new DefinitionError(`the reference '${name}': ${absent.type} is of no context`);
    }
    this.#contexts = contexts;
    this.#references = references;
  }

  /** The entities of a type of a context. Throws `DefinitionError` for one of another. */
  entities<D extends AnyDefinition>(context: N, definition: D): Entities<D> {
    const types = own<ContextTypes>(this.#contexts, context) ?? [];
    const found = types.find(([each]) => each === definition);
    if (found !== undefined) return entitiesOf(definition, found[1]);
    throw new DefinitionError(`the context '${context}' has no type ${definition.type}`);
  }

  /**
   * Looks for what every declared reference refers to. Range reads of the referring types, and a
   * point read for each reference. An orphan is looked for twice before it is told.
   */
  async checkReferences(options: ReferenceCheckOptions = {}): Promise<ReferenceReport> {
    const { onOrphan, repair = false, concurrency = concurrencyDefault } = options;
    let [checked, orphans, repaired] = [0, 0, 0];
    for (const { name, from, to, keyOf, repair: mend } of this.#references) {
      const targets = this.#entitiesOf(to);
      const check = async (entity: object): Promise<void> => {
        const target = keyOf(entity);
        if (target === undefined) return;
        checked += 1;
        const isThere = async () => (await targets.get(target)) !== undefined;
        if ((await isThere()) || (await isThere())) return;
        orphans += 1;
        const isRepaired = repair && mend !== undefined;
        await onOrphan?.({ reference: name, target, entity, isRepaired });
        if (!isRepaired) return;
        await mend(entity);
        repaired += 1;
      };
      let batch: object[] = [];
      for await (const entity of this.#entitiesOf(from).scanTable()) {
        batch.push(entity);
        if (batch.length < batchSize) continue;
        await concurrently(batch, Math.max(1, concurrency), check);
        batch = [];
      }
      await concurrently(batch, Math.max(1, concurrency), check);
    }
    return Object.freeze({ checked, orphans, repaired });
  }

  #entitiesOf(definition: AnyDefinition): Entities<AnyDefinition> {
    const all = Object.values<ContextTypes>(this.#contexts).flat();
    const found = all.find(([{ type }]) => type === definition.type);
    if (found === undefined) throw new DefinitionError(`${definition.type} is of no context`);
    return entitiesOf(definition, found[1]);
  }
}

/** References that are looked for before the next ones are read. */
const batchSize = 500;

/** Bounded contexts. Sends nothing. */
export function contextsOf<N extends string>(
  contexts: Readonly<Record<N, ContextTypes>>,
  references?: readonly ContextReference[],
): Contexts<N> {
  return new Contexts(contexts, references);
}
