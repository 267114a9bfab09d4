declare const valueOf: unique symbol;

/**
 * The declared form of a value from outside. The same declaration checks values of programs and
 * files (`check.ts`) and is published as JSON Schema (`json-schema.ts`).
 */
export type Shape<Value = unknown> = ShapeKind & ShapeNotes & { readonly [valueOf]?: Value };

export interface ShapeNotes {
  /** Completes "must be …" where the kind alone says too little. */
  readonly expected?: string;
  /** The name under which the published schema has it once. */
  readonly definition?: { readonly name: string; readonly description: string };
  /** Messages do not repeat the value. */
  readonly isSecret?: boolean;
}

export type ShapeKind =
  | TextShape
  | NumberShape
  | { readonly kind: 'boolean' }
  | { readonly kind: 'null' }
  /** A member that is not allowed, with a text that says why. */
  | { readonly kind: 'never' }
  | { readonly kind: 'choice'; readonly values: readonly string[] }
  | ListShape
  | ObjectShape
  | { readonly kind: 'record'; readonly item: Shape; readonly names: RegExp | undefined }
  | { readonly kind: 'either'; readonly shapes: readonly Shape[] }
  /** An object that only programs can give; `has`: the functions that it must have. */
  | { readonly kind: 'instance'; readonly of: InstanceKind; readonly has: readonly string[] };

/** `number`: any number, also NaN and the infinities. */
export const instanceKinds = [
  'function',
  'object',
  'undefined',
  'number',
  'bigint',
  'Date',
  'URL',
  'bytes',
] as const;
export type InstanceKind = (typeof instanceKinds)[number];

interface TextShape {
  readonly kind: 'text';
  readonly pattern: RegExp | undefined;
  readonly charactersMin: number;
  readonly charactersMax: number | undefined;
}

interface NumberShape {
  readonly kind: 'number';
  readonly isWhole: boolean;
  readonly min: number;
  readonly max: number;
  readonly but: number | undefined;
}

interface ListShape {
  readonly kind: 'list';
  readonly item: Shape;
  readonly min: number;
  readonly max: number | undefined;
}

export interface ObjectShape {
  readonly kind: 'object';
  readonly members: Readonly<Record<string, ShapeMember>>;
  readonly required: readonly string[];
  /** The shape of unknown members; undefined: unknown members are refused. */
  readonly others: Shape | undefined;
  /** The object has exactly one member. */
  readonly isSingle: boolean;
  /** The shape of members whose names match a pattern. */
  readonly like: { readonly names: RegExp; readonly member: ShapeMember } | undefined;
}

/** The source of a value: a program can give values that a YAML or JSON file cannot. */
export type ValueSource = 'program' | 'file';

export interface ShapeMember<Value = unknown> {
  readonly shape: Shape<Value>;
  readonly description: string;
  readonly examples: readonly unknown[];
  /** The only source that may set this member. */
  readonly only: ValueSource | undefined;
}

export function text(given: Partial<Omit<TextShape, 'kind'>> & ShapeNotes = {}): Shape<string> {
  return { kind: 'text', pattern: undefined, charactersMin: 1, charactersMax: undefined, ...given };
}

export function whole(
  min: number,
  max: number = Number.MAX_SAFE_INTEGER,
  notes: ShapeNotes & { readonly but?: number } = {},
): Shape<number> {
  return { kind: 'number', isWhole: true, min, max, but: undefined, ...notes };
}

export function number(min: number, max: number, notes: ShapeNotes = {}): Shape<number> {
  return { kind: 'number', isWhole: false, min, max, but: undefined, ...notes };
}

export const anyNumber: Shape<number> = number(-Infinity, Infinity);
export const boolean: Shape<boolean> = { kind: 'boolean' };
export const nothing: Shape<null> = { kind: 'null' };

export function choice<const Value extends string>(values: readonly Value[]): Shape<Value> {
  return { kind: 'choice', values };
}

export function list<Item>(
  item: Shape<Item>,
  { min = 0, max, ...notes }: { readonly min?: number; readonly max?: number } & ShapeNotes = {},
): Shape<readonly Item[]> {
  return { kind: 'list', item, min, max, ...notes };
}

/** A shape for each member of `Value`; the compiler reports a missing or an extra one. */
export type MembersOf<Value> = {
  readonly [Name in keyof Value]-?: ShapeMember<Exclude<Value[Name], undefined>>;
};

export function object<Value extends object>(
  members: MembersOf<Value>,
  {
    required = [],
    others,
    like,
    isSingle = false,
    ...notes
  }: {
    readonly required?: readonly (keyof Value & string)[];
    readonly others?: Shape;
    readonly isSingle?: boolean;
    readonly like?: ObjectShape['like'];
  } & ShapeNotes = {},
): Shape<Value> {
  return { kind: 'object', members: { ...members }, required, others, isSingle, like, ...notes };
}

/** An object with any member names, all of one shape. */
export function record<Item>(
  item: Shape<Item>,
  { names, ...notes }: { readonly names?: RegExp } & ShapeNotes = {},
): Shape<Readonly<Record<string, Item>>> {
  return { kind: 'record', item, names, ...notes };
}

/** One of several shapes, told apart by the type of the value. */
export function either<Shapes extends readonly Shape[]>(
  shapes: Shapes,
  notes: ShapeNotes = {},
): Shape<Shapes[number] extends Shape<infer Value> ? Value : never> {
  return { kind: 'either', shapes, ...notes };
}

export function instance<Value>(
  of: InstanceKind,
  { has = [], ...notes }: { readonly has?: readonly (keyof Value & string)[] } & ShapeNotes = {},
): Shape<Value> {
  return { kind: 'instance', of, has, ...notes };
}

export function member<Value>(
  shape: Shape<Value>,
  description: string,
  example?: unknown,
  only?: ValueSource,
): ShapeMember<Value> {
  return { shape, description, examples: example === undefined ? [] : [example], only };
}

/** Casts a shape to the type of its values, where the compiler cannot infer it. */
export function shapeOf<Value>(shape: ShapeKind & ShapeNotes): Shape<Value> {
  return shape;
}
