import { unreachable } from '../../../base/invariant.js';
import { storedNameOf } from '../../definition/entity-definition.js';
import type { KeyTemplate } from '../../definition/key-template.js';
import type { AnyProperty, Properties } from '../../definition/property.js';
import { envelopeProperty } from '../../encryption/envelope.js';
import { capacityFormula as formula } from './capacity-formula.js';
import {
  sizeOf,
  type FactsByName,
  type PropertyFacts,
  type SizeRange,
} from '../facts/property-facts.js';

/** A stored entity: a row of a definition, or of an index. */
export interface StoredShape {
  /** All properties whose values are in keys or in stored properties. */
  readonly properties: Properties;
  readonly partitionKey: KeyTemplate;
  readonly rowKey: KeyTemplate;
  /** The names of the stored properties. */
  readonly stored: readonly string[];
  /** Further stored properties. */
  readonly extra: readonly ExtraField[];
}

/** A stored property that the library adds: the type, the version or a write stamp. */
export interface ExtraField {
  readonly name: string;
  readonly value: ValueSize;
}

/** The size of a value, without its name. */
export interface ValueSize {
  readonly content: FieldContent;
  /** UTF-16 code units of a text, else bytes. */
  readonly units: SizeRange;
}

/** How limits apply to a stored value. */
export type FieldContent = 'text' | 'bytes' | 'fixed';

export interface FieldSize {
  /** The name in the definition, with dots for embedded objects. */
  readonly property: string;
  readonly storedName: string;
  /** Bytes, name and overhead included. The average counts entities without the property as 0. */
  readonly bytes: SizeRange;
  readonly content: FieldContent;
  /** The value alone: UTF-16 code units of a text, else bytes. */
  readonly units: SizeRange;
  /** Whether the table stores large values in parts, in rows or blobs of their own. */
  readonly isLarge: boolean;
  /** The share of entities that have it. */
  readonly present: number;
}

export interface EntitySize {
  /** As the service counts them for the limit of 1 MiB and for the bill. */
  readonly bytes: SizeRange;
  /** Average bytes that are neither keys nor values: 4 per entity, 8 and the name per property. */
  readonly overheadBytes: number;
  readonly fields: readonly FieldSize[];
  /** Properties of an entity that has all of them, without the keys and the Timestamp. */
  readonly properties: number;
  /** UTF-16 code units. */
  readonly partitionKey: SizeRange;
  readonly rowKey: SizeRange;
  /** Properties of unknown size, for which `assumedUnits` was used. */
  readonly assumed: readonly string[];
}

/** Code units assumed for a text of unknown size. */
export const assumedUnits = 20;

export function entitySize(shape: StoredShape, facts: FactsByName): EntitySize {
  const assumed = new Set<string>();
  const partitionKey = keyUnits(shape.partitionKey, shape.properties, facts, assumed);
  const rowKey = keyUnits(shape.rowKey, shape.properties, facts, assumed);
  const fields = shape.stored.flatMap((name) => {
    const property = shape.properties[name];
    if (property === undefined) return [];
    return fieldSizes(name, storedNameOf(name, property), property, facts[name] ?? {}, assumed);
  });
  const encrypted = fields.filter(({ property }) => isEncrypted(shape.properties, property));
  const extra = [...shape.extra, ...envelopeOf(encrypted)].map(({ name, value }) =>
    field(name, name, value, 1),
  );
  const all = [...fields, ...extra];
  const total = (pick: (size: SizeRange) => number): number =>
    formula.entity +
    formula.keyUnit * (pick(partitionKey) + pick(rowKey)) +
    all.reduce<number>((sum, { bytes }) => sum + pick(bytes), 0);
  return {
    bytes: { average: total(({ average }) => average), maximum: total(({ maximum }) => maximum) },
    overheadBytes: all.reduce<number>(
      (sum, { storedName, present }) => sum + present * overheadOf(storedName),
      formula.entity,
    ),
    fields,
    properties: all.length,
    partitionKey,
    rowKey,
    assumed: [...assumed],
  };
}

function overheadOf(storedName: string): number {
  return formula.property + formula.nameUnit * storedName.length;
}

/** The bytes of a value, as the service counts them. */
function valueBytes({ content, units }: ValueSize): SizeRange {
  switch (content) {
    case 'text':
      return mapSize(units, (count) => formula.textUnit * count + formula.length);
    case 'bytes':
      return mapSize(units, (count) => count + formula.length);
    case 'fixed':
      return units;
    default:
      return unreachable(content);
  }
}

function field(
  property: string,
  storedName: string,
  { content, units }: ValueSize,
  present: number,
  isLarge = false,
): FieldSize {
  const overhead = overheadOf(storedName);
  const value = valueBytes({ content, units });
  return {
    property,
    storedName,
    bytes: {
      average: present * (overhead + value.average),
      maximum: present === 0 ? 0 : overhead + value.maximum,
    },
    content,
    units,
    isLarge,
    present,
  };
}

function fieldSizes(
  path: string,
  storedName: string,
  property: AnyProperty,
  facts: PropertyFacts,
  assumed: Set<string>,
): readonly FieldSize[] {
  const { kind, flags, properties = {} } = property.model;
  const present = facts.present ?? 1;
  if (kind === 'embedded') {
    return Object.entries<AnyProperty>(properties).flatMap(([name, inner]) => {
      const known = facts.properties?.[name] ?? {};
      const share = present * (known.present ?? 1);
      const stored = `${storedName}_${storedNameOf(name, inner)}`;
      return fieldSizes(`${path}.${name}`, stored, inner, { ...known, present: share }, assumed);
    });
  }
  const value = valueSize(path, property, facts, assumed);
  const stored = flags.has('encrypted') ? encryptedSize(value) : value;
  return [field(path, storedName, stored, present, property.model.isLarge === true)];
}

function valueSize(
  path: string,
  property: AnyProperty,
  facts: PropertyFacts,
  assumed: Set<string>,
): ValueSize {
  const { kind } = property.model;
  switch (kind) {
    case 'int32':
      return fixed(formula.fixed.Int32);
    case 'int64':
      return fixed(formula.fixed.Int64);
    case 'double':
      return fixed(formula.fixed.Double);
    case 'boolean':
      return fixed(formula.fixed.Boolean);
    case 'guid':
      return fixed(formula.fixed.Guid);
    case 'instant':
    case 'dateTime':
      return fixed(formula.fixed.DateTime);
    case 'binary':
      return { content: 'bytes', units: sizeOf(facts) ?? assume(path, assumed) };
    case 'string':
    case 'json':
    case 'list':
    case 'enumeration':
      return { content: 'text', units: textUnits(path, property, facts, assumed) };
    case 'embedded':
      return fixed(0);
    default:
      return unreachable(kind);
  }
}

function fixed(bytes: number): ValueSize {
  return { content: 'fixed', units: { average: bytes, maximum: bytes } };
}

function mapSize(size: SizeRange, map: (figure: number) => number): SizeRange {
  return { average: map(size.average), maximum: map(size.maximum) };
}

function assume(path: string, assumed: Set<string>): SizeRange {
  assumed.add(path);
  return { average: assumedUnits, maximum: assumedUnits };
}

function textUnits(
  path: string,
  { model }: AnyProperty,
  facts: PropertyFacts,
  assumed: Set<string>,
): SizeRange {
  const told = sizeOf(facts);
  if (told !== undefined) return told;
  const { values = [] } = model;
  if (values.length === 0) return assume(path, assumed);
  const lengths = values.map(({ length }) => length);
  return {
    average: lengths.reduce((sum, length) => sum + length, 0) / lengths.length,
    maximum: Math.max(...lengths),
  };
}

/** Bytes that encryption adds to a value: a mark, the nonce, its type and the tag. */
export const encryptionBytes = 1 + 12 + 1 + 16;

/** Encrypted values are Binary. A text becomes UTF-8, at most 3 bytes per code unit. */
function encryptedSize({ content, units }: ValueSize): ValueSize {
  const plain = content === 'text' ? { average: units.average, maximum: 3 * units.maximum } : units;
  return { content: 'bytes', units: mapSize(plain, (count) => count + encryptionBytes) };
}

/**
 * The approximate size of an envelope for a key in a key vault with RSA-OAEP-256, and of each
 * property.
 */
const envelopeUnits = 500;
const envelopePropertyUnits = 13;

function envelopeOf(encrypted: readonly FieldSize[]): readonly ExtraField[] {
  if (encrypted.length === 0) return [];
  const units = encrypted.reduce(
    (sum, { storedName }) => sum + storedName.length + envelopePropertyUnits,
    envelopeUnits,
  );
  const value: ValueSize = { content: 'text', units: { average: units, maximum: units } };
  return [{ name: envelopeProperty, value }];
}

function isEncrypted(properties: Properties, path: string): boolean {
  const property = properties[path.split('.', 1)[0] ?? ''];
  return property?.model.flags.has('encrypted') === true;
}

/**
 * The code units of a key: its literal texts and its values. The two or three units that an escape
 * adds are not counted.
 */
function keyUnits(
  { texts, parts }: KeyTemplate,
  properties: Properties,
  facts: FactsByName,
  assumed: Set<string>,
): SizeRange {
  const literal = texts.reduce((sum, text) => sum + text.length, 0);
  const values = parts.map(({ property, format }) => {
    if (format.width !== undefined) return { average: format.width, maximum: format.width };
    return openPartUnits(property, properties[property], facts[property] ?? {}, assumed);
  });
  return {
    average: values.reduce((sum, { average }) => sum + average, literal),
    maximum: values.reduce((sum, { maximum }) => sum + maximum, literal),
  };
}

/** Digits of a number without leading zeros; the averages are typical ones. */
const int32Units: SizeRange = { average: 6, maximum: 11 };
const int64Units: SizeRange = { average: 10, maximum: 20 };
const booleanUnits: SizeRange = { average: 4.5, maximum: 5 };

function openPartUnits(
  name: string,
  property: AnyProperty | undefined,
  facts: PropertyFacts,
  assumed: Set<string>,
): SizeRange {
  switch (property?.model.kind) {
    case 'int32':
      return int32Units;
    case 'int64':
      return int64Units;
    case 'boolean':
      return booleanUnits;
    default:
      return property === undefined
        ? assume(name, assumed)
        : textUnits(name, property, facts, assumed);
  }
}
