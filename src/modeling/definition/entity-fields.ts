import { ValueError } from '../rows/model-error.js';
import { keyNamesOf, storedNameOf, type AnyDefinition } from './entity-definition.js';
import type { PropertyModel } from './property.js';
import { unknownName } from './unknown-name.js';

/** A property of a definition, with derived facts. */
export interface Field {
  readonly name: string;
  readonly model: PropertyModel;
  /** The name under which the value is stored. */
  readonly stored: string;
  readonly isInKeys: boolean;
  readonly isStored: boolean;
}

/** Values of an entity by the names of its properties. */
export type Values = Readonly<Record<string, unknown>>;

export function fieldsOf(definition: AnyDefinition): readonly Field[] {
  const inKeys = keyNamesOf(definition);
  return Object.entries(definition.properties).map(([name, property]) => ({
    name,
    model: property.model,
    stored: storedNameOf(name, property),
    isInKeys: inKeys.has(name),
    isStored: !inKeys.has(name) || property.model.flags.has('stored'),
  }));
}

/** The stored names that a property may take. */
export function storedNamesOf({ model, stored }: Field): readonly string[] {
  return model.codec.wireNames(stored);
}

/** The value of a property that a row lacks. */
export function absentValue({
  defaultValue,
  kind,
  flags,
  properties = {},
}: PropertyModel): unknown {
  if (defaultValue !== undefined) return defaultValue();
  const isEmptyObject =
    kind === 'embedded' &&
    !flags.has('optional') &&
    Object.values(properties).every(({ model }) => model.flags.has('optional'));
  return isEmptyObject ? {} : undefined;
}

/**
 * The values of an entity with absent and computed ones filled in; every required value is present.
 * `absent` gives the value of a property that is not given. Throws `ValueError`.
 */
export function completeValues(
  type: string,
  fields: readonly Field[],
  given: Values,
  absent: (model: PropertyModel) => unknown,
): Values {
  const values: Record<string, unknown> = {};
  for (const { name, model } of fields) {
    if (model.computation !== undefined) continue;
    const value = given[name] ?? absent(model);
    if (value !== undefined && value !== null) values[name] = value;
    else if (!model.flags.has('optional') && !model.flags.has('default')) {
      throw new ValueError(`${type} needs '${name}'`);
    }
  }
  for (const { name, model } of fields) {
    if (model.computation === undefined) continue;
    // An insert-or-merge has no defaults, so values computed from them are left out.
    const isLacking = Object.entries(model.computation.from).some(
      ([source, from]) => values[source] === undefined && !from.model.flags.has('optional'),
    );
    const value = isLacking ? undefined : model.computation.compute(values);
    if (value !== undefined && value !== null) values[name] = value;
  }
  return values;
}

/**
 * The changes of a merge, with the computed properties that depend on them. Throws `ValueError`
 * when a computed property also depends on a value that the merge lacks, or a change is not
 * allowed.
 */
export function mergedValues(type: string, fields: readonly Field[], changes: Values): Values {
  const values: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) continue;
    const field = fields.find((each) => each.name === name);
    if (field === undefined) {
      throw new ValueError(
        unknownName(
          type,
          name,
          fields.map((each) => each.name),
        ),
      );
    }
    refuseMerge(type, field, value);
    values[name] = value;
  }
  for (const { name, model } of fields) {
    const sources = Object.keys(model.computation?.from ?? {});
    const changed = sources.filter((source) => changes[source] !== undefined);
    if (model.computation === undefined || changed.length === 0) continue;
    const missing = sources.filter((source) => changes[source] === undefined);
    if (missing.length > 0) {
      throw new ValueError(
        `${type}.${name} is computed from ${sources.join(', ')}: ` +
          `a merge of ${changed.join(', ')} needs ${missing.join(', ')} as well`,
      );
    }
    values[name] = model.computation.compute(changes);
  }
  return values;
}

function refuseMerge(type: string, { name, model, isInKeys }: Field, value: unknown): void {
  const why = isInKeys
    ? 'is in the keys, which never change'
    : value === null
      ? 'cannot be removed by a merge; read the entity and replace it'
      : model.flags.has('readOnly')
        ? 'is read-only'
        : model.computation !== undefined
          ? 'is computed'
          : undefined;
  if (why !== undefined) throw new ValueError(`${type}.${name} ${why}`);
}
