import { own } from '../../../base/own.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import { DefinitionError } from '../../rows/model-error.js';
import { entitiesOf, type Entities } from '../../table/entities.js';
import type { TableGateway } from '../../table/gateway.js';
import type { ContextReference } from './context-reference.js';
import {
  checkReferencesOf,
  type ReferenceCheckOptions,
  type ReferenceReport,
} from './reference-check.js';

/** The types of a bounded context, each with its table: of the account of the context. */
export type ContextTypes = readonly (readonly [definition: AnyDefinition, table: TableGateway])[];

/**
 * Bounded contexts by name: each with types, tables and access of its own. A type belongs to one;
 * a reporting context has them as read-only tables of a copy.
 */
export class Contexts<N extends string> {
  readonly #contexts: Readonly<Record<N, ContextTypes>>;
  readonly #references: readonly ContextReference[];

  /**
   * Throws `DefinitionError` for a type that is written by two contexts, for a reference to a type
   * of none, and for two references of one name. Sends nothing.
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
    const names = references.map(({ name }) => name);
    const twice = names.find((name, at) => names.indexOf(name) !== at);
    if (twice !== undefined) throw new DefinitionError(`two references are named '${twice}'`);
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
   * Looks for the target of every declared reference, except those of entities that were written
   * within `graceMs`. Range reads of the referring types, for each reference a point read, and for
   * each orphan a message. The target of an orphan is looked for twice before the orphan is
   * reported, and its repair is skipped when it has changed meanwhile. Resume with a cursor of
   * `onCursor`, or start again without one. Throws `ValueError` for a cursor of other references.
   */
  checkReferences(options: ReferenceCheckOptions = {}): Promise<ReferenceReport> {
    const checked = this.#references.map((reference) => ({
      ...reference,
      referring: this.#entitiesOf(reference.from),
      targets: this.#entitiesOf(reference.to),
    }));
    return checkReferencesOf(checked, options);
  }

  #entitiesOf(definition: AnyDefinition): Entities<AnyDefinition> {
    const all = Object.values<ContextTypes>(this.#contexts).flat();
    const found = all.find(([{ type }]) => type === definition.type);
    if (found === undefined) throw new DefinitionError(`${definition.type} is of no context`);
    return entitiesOf(definition, found[1]);
  }
}

/** Bounded contexts. Sends nothing. */
export function contextsOf<N extends string>(
  contexts: Readonly<Record<N, ContextTypes>>,
  references?: readonly ContextReference[],
): Contexts<N> {
  return new Contexts(contexts, references);
}
