import { createRequire } from 'node:module';
import type * as library from 'ajv/dist/2020.js';
import type { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js';
import { schemaOf, type JsonSchema, type SchemaWriter } from './json-schema.js';
import { mistakeOf, type Mistake } from './mistake.js';
import { instanceKinds, type ValueSource, type InstanceKind, type Shape } from './shape.js';
import { expectedWords } from './words.js';

/** Mistakes shown of one value, at most. */
export const mistakesShownMax = 10;

export interface Mistakes {
  /** The first ones. */
  readonly shown: readonly Mistake[];
  /** The number of further mistakes. */
  readonly hidden: number;
}

const none: Mistakes = Object.freeze({ shown: Object.freeze([]), hidden: 0 });

/** The mistakes of a value; none when it has the shape. */
export function mistakesIn(
  shape: Shape,
  value: unknown,
  source: ValueSource = 'program',
): Mistakes {
  const validate = validatorOf(shape, source);
  if (validate(value)) return none;
  const found = relevant(validate.errors ?? []);
  // Suggesting a name takes long, so it is done only for reported mistakes.
  const shown = found.slice(0, mistakesShownMax).map(mistakeOf);
  return { shown, hidden: found.length - shown.length };
}

/** A type guard: true when a value has the shape. */
export function fits<Value>(shape: Shape<Value>, value: unknown): value is Value {
  return validatorOf(shape, 'program')(value);
}

/** The errors without those that only repeat another error. */
function relevant(errors: ValidateFunction['errors'] & object): typeof errors {
  const own = errors.filter(({ keyword }) => keyword !== 'if' && keyword !== 'propertyNames');
  return own.length > 0 ? own : errors;
}

const compiled = {
  program: new WeakMap<Shape, ValidateFunction>(),
  file: new WeakMap<Shape, ValidateFunction>(),
};

function validatorOf(shape: Shape, source: ValueSource): ValidateFunction {
  const known = compiled[source].get(shape);
  if (known !== undefined) return known;
  const validate = ajv().compile(schemaOf(shape, checkedWriter(source)));
  compiled[source].set(shape, validate);
  return validate;
}

/** Schemas that say what is expected, for messages. */
function checkedWriter(source: ValueSource): SchemaWriter {
  return {
    source,
    noted: (whole, schema) => withWords(whole, schema),
    placed: (shape, schema, { whole = shape }) => {
      const worded = withWords(whole, schema());
      return shape.isSecret === true ? { ...worded, isSecret: true } : worded;
    },
  };
}

function withWords(shape: Shape, schema: JsonSchema): JsonSchema {
  const secret = shape.isSecret === true ? { isSecret: true } : {};
  return { ...schema, expected: expectedWords(shape), ...secret };
}

let made: Ajv2020 | undefined;

function ajv(): Ajv2020 {
  return (made ??= makeAjv());
}

/** Loaded on first use, so that commands that check nothing start sooner. */
function makeAjv(): Ajv2020 {
  const load = createRequire(import.meta.url);
  const { Ajv2020 } = load('ajv/dist/2020.js') as typeof library;
  const ajv = new Ajv2020({
    allErrors: true,
    verbose: true,
    strictTypes: false,
    // A test shows that our schemas are well-formed.
    meta: false,
    validateSchema: false,
  });
  ajv.addVocabulary(['expected', 'isSecret']);
  ajv.addKeyword({
    keyword: 'instanceOf',
    schemaType: 'string',
    validate: (of: string, data: unknown) =>
      instanceKinds.some((kind) => kind === of && isInstance[kind](data)),
  });
  ajv.addKeyword({
    keyword: 'hasFunctions',
    schemaType: 'array',
    validate: (names: readonly string[], data: unknown) =>
      typeof data !== 'object' || data === null || names.every((name) => isFunctionOf(data, name)),
  });
  return ajv;
}

const isInstance: Readonly<Record<InstanceKind, (value: unknown) => boolean>> = {
  function: (value) => typeof value === 'function',
  object: (value) => typeof value === 'object' && value !== null,
  undefined: (value) => value === undefined,
  number: (value) => typeof value === 'number',
  bigint: (value) => typeof value === 'bigint',
  Date: (value) => value instanceof Date,
  URL: (value) => value instanceof URL,
  bytes: (value) => value instanceof Uint8Array,
};

function isFunctionOf(value: object, name: string): boolean {
  return typeof Reflect.get(value, name) === 'function';
}
