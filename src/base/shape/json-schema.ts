import { unreachable } from '../invariant.js';
import type { ValueSource, InstanceKind, ObjectShape, Shape, ShapeMember } from './shape.js';

/** A JSON Schema (2020-12), or a part of one. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Where a shape occurs in a schema, and the notes for it there. */
export interface SchemaContext {
  readonly description?: string;
  readonly examples?: readonly unknown[];
  /** The union shape that this shape is an alternative of. */
  readonly whole?: Shape;
}

/** Writes shapes as schemas. */
export interface SchemaWriter {
  readonly source: ValueSource;
  /** The schema for a shape in place: the shape itself with notes, or a reference to it. */
  readonly placed: (shape: Shape, schema: () => JsonSchema, context: SchemaContext) => JsonSchema;
  /** A schema composed of several alternatives of a shape, with notes. */
  readonly noted: (whole: Shape, schema: JsonSchema) => JsonSchema;
}

/** The schema of a shape for one source of values. */
export function schemaOf(
  shape: Shape,
  writer: SchemaWriter,
  context: SchemaContext = {},
): JsonSchema {
  return writer.placed(shape, () => written(shape, writer), context);
}

/** The published schema for files of a shape. Named definitions are in `$defs`, once each. */
export function publishedSchema(shape: Shape, head: JsonSchema): JsonSchema {
  const definitions = new Map<string, JsonSchema>();
  const writer: SchemaWriter = {
    source: 'file',
    noted: (_whole, schema) => schema,
    placed({ definition, isSecret }, schema, { description, examples = [] }) {
      const described = description === undefined ? {} : { description };
      const shown = examples.length === 0 ? {} : { examples };
      const secret = isSecret === true ? { writeOnly: true } : {};
      if (definition === undefined) return { ...described, ...secret, ...schema(), ...shown };
      const { name } = definition;
      if (!definitions.has(name)) {
        // Reserves the position of the definition before those that it refers to.
        definitions.set(name, {});
        definitions.set(name, { description: definition.description, ...secret, ...schema() });
      }
      return { ...described, $ref: `#/$defs/${name}`, ...shown };
    },
  };
  const schema = schemaOf(shape, writer);
  const $defs = Object.fromEntries(definitions);
  return { ...head, ...schema, ...(definitions.size === 0 ? {} : { $defs }) };
}

function written(shape: Shape, writer: SchemaWriter): JsonSchema {
  switch (shape.kind) {
    case 'text':
      return {
        type: 'string',
        ...(shape.charactersMin === 0 ? {} : { minLength: shape.charactersMin }),
        ...(shape.charactersMax === undefined ? {} : { maxLength: shape.charactersMax }),
        ...(shape.pattern === undefined ? {} : { pattern: shape.pattern.source }),
      };
    case 'number':
      return {
        type: shape.isWhole ? 'integer' : 'number',
        ...(shape.min === -Infinity ? {} : { minimum: shape.min }),
        ...(shape.max >= Number.MAX_SAFE_INTEGER ? {} : { maximum: shape.max }),
        ...(shape.but === undefined ? {} : { not: { const: shape.but } }),
      };
    case 'boolean':
    case 'null':
      return { type: shape.kind };
    case 'never':
      return { not: {}, deprecated: true };
    case 'choice':
      return { enum: shape.values };
    case 'list':
      return {
        type: 'array',
        ...(shape.min === 0 ? {} : { minItems: shape.min }),
        ...(shape.max === undefined ? {} : { maxItems: shape.max }),
        items: schemaOf(shape.item, writer),
      };
    case 'object':
      return objectSchema(shape, writer);
    case 'record':
      return {
        type: 'object',
        ...(shape.names === undefined ? {} : { propertyNames: { pattern: shape.names.source } }),
        additionalProperties: schemaOf(shape.item, writer),
      };
    case 'either':
      return eitherSchema(shape.shapes, shape, writer);
    case 'instance':
      return instanceSchema(shape.of, shape.has);
    default:
      return unreachable(shape);
  }
}

function objectSchema(shape: ObjectShape, writer: SchemaWriter): JsonSchema {
  const { required, others, isSingle, like } = shape;
  const known = Object.entries(shape.members).filter(
    ([, { only = writer.source }]) => only === writer.source,
  );
  return {
    type: 'object',
    additionalProperties: others === undefined ? false : schemaOf(others, writer),
    ...(required.length === 0 ? {} : { required }),
    ...(isSingle ? { minProperties: 1, maxProperties: 1 } : {}),
    properties: Object.fromEntries(
      known.map(([name, member]) => [name, memberSchema(member, writer)]),
    ),
    ...(like === undefined
      ? {}
      : { patternProperties: { [like.names.source]: memberSchema(like.member, writer) } }),
  };
}

function memberSchema(
  { shape, description, examples }: ShapeMember,
  writer: SchemaWriter,
): JsonSchema {
  return schemaOf(shape, writer, { description, examples });
}

/** Keywords of one type do not apply to others, so schemas of several types can be merged. */
function eitherSchema(shapes: readonly Shape[], whole: Shape, writer: SchemaWriter): JsonSchema {
  const possible = shapes.filter(({ kind }) => writer.source === 'program' || kind !== 'instance');
  const [first, ...others] = possible;
  if (first === undefined) return { not: {} };
  if (others.length === 0) return schemaOf(first, writer, { whole });
  const merged = mergedSchema(possible, writer);
  if (merged !== undefined) return writer.noted(whole, merged);
  const then = schemaOf(first, writer, { whole });
  // oxlint-disable-next-line unicorn/no-thenable -- it is a keyword of JSON Schema
  return { if: typeSchema(first), then, else: eitherSchema(others, whole, writer) };
}

/** Kinds with keywords that apply to values of any type. */
const unmergeable: ReadonlySet<string> = new Set(['choice', 'instance', 'either', 'never']);

function mergedSchema(shapes: readonly Shape[], writer: SchemaWriter): JsonSchema | undefined {
  if (shapes.some(({ kind, definition }) => unmergeable.has(kind) || definition)) return undefined;
  const schemas = shapes.map((shape) => written(shape, writer));
  return Object.assign({}, ...schemas, { type: schemas.map(({ type }) => type) }) as JsonSchema;
}

/** The schema that distinguishes values of the shape from values of other shapes. */
function typeSchema(shape: Shape): JsonSchema {
  switch (shape.kind) {
    case 'instance':
      return instanceSchema(shape.of, shape.has);
    case 'text':
    case 'choice':
      return { type: 'string' };
    case 'list':
      return { type: 'array' };
    case 'record':
    case 'object':
      return { type: 'object' };
    case 'either':
      return { anyOf: shape.shapes.map(typeSchema) };
    case 'number':
    case 'boolean':
    case 'null':
      return { type: shape.kind };
    case 'never':
      return { not: {} };
    default:
      return unreachable(shape);
  }
}

function instanceSchema(of: InstanceKind, has: readonly string[]): JsonSchema {
  return { instanceOf: of, ...(has.length === 0 ? {} : { hasFunctions: has }) };
}
