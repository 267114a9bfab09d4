import { keyNamesOf, type AnyDefinition } from '../../definition/entity-definition.js';
import { capacityFormula as formula } from './capacity-formula.js';
import type { ExtraField, StoredShape } from './entity-size.js';

/** How this library stores the rows of a definition. */
export function shapeOf(definition: AnyDefinition): StoredShape {
  const { properties, partitionKey, rowKey } = definition;
  const inKeys = keyNamesOf(definition);
  const stored = Object.keys(properties).filter(
    (name) => !inKeys.has(name) || properties[name]?.model.flags.has('stored') === true,
  );
  return { properties, partitionKey, rowKey, stored, extra: systemFields(definition) };
}

/** A write stamp: one id after the insert, up to four later, of 12 to 22 characters each. */
export const stampUnits = { average: 31, maximum: 91 };

/** The properties that the library adds: type, version, write stamp. */
export function systemFields({ type, version, system }: AnyDefinition): readonly ExtraField[] {
  const fields: ExtraField[] = [];
  if (system.type !== undefined) fields.push(textField(system.type, type.length, type.length));
  if (version > 1) {
    const bytes = formula.fixed.Int32;
    const units = { average: bytes, maximum: bytes };
    fields.push({ name: system.version, value: { content: 'fixed', units } });
  }
  if (system.writeStamp !== undefined) {
    fields.push(textField(system.writeStamp, stampUnits.average, stampUnits.maximum));
  }
  return fields;
}

function textField(name: string, average: number, maximum: number): ExtraField {
  return { name, value: { content: 'text', units: { average, maximum } } };
}
