import type { ErrorObject } from 'ajv';
import { nearestName } from '../nearest-name.js';
import { looksLikeKey } from './secret-text.js';

/** Names of members and positions in lists, from the outermost value inwards. */
export type ValuePath = readonly (string | number)[];

/** What is wrong with a value. */
export interface Mistake {
  /** The path of the value that `problem` is about. */
  readonly path: ValuePath;
  /** A sentence without its subject: `must be …, not …`. Never contains a secret. */
  readonly problem: string;
  /** The unknown member of that value. */
  readonly unknownName: string | undefined;
}

/** The same mistake with a member name in front of its path. */
export function within(name: string, { path, problem, unknownName }: Mistake): Mistake {
  return { path: [name, ...path], problem, unknownName };
}

/**
 * The path as text, like `tables.port` or `accounts[0].keys`; `root` stands for the outermost
 * value.
 */
export function pathText(path: ValuePath, root: string): string {
  const text = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`)).join('');
  return text === '' ? root : cut(text.replace(/^\./, ''), pathCharactersMax);
}

/** The full sentence, whose subject is the path of the value. */
export function mistakeText({ path, problem }: Mistake, root: string): string {
  return sentence(pathText(path, root), problem);
}

/** `problem` may end with a question. */
export function sentence(subject: string, problem: string): string {
  return `${subject} ${problem}${problem.endsWith('?') ? '' : '.'}`;
}

const pathCharactersMax = 200;
const namesShownMax = 40;
const valueCharactersMax = 60;

export function mistakeOf(error: ErrorObject): Mistake {
  const path = pathOf(error.instancePath);
  const { keyword, params, propertyName } = error;
  if (keyword === 'additionalProperties') {
    const name = String(params['additionalProperty']);
    return { path, problem: unknownMemberProblem(error, name), unknownName: name };
  }
  if (propertyName !== undefined) {
    const problem = looksLikeKey(propertyName)
      ? 'has a member whose name cannot be'
      : `has a member '${cut(propertyName, valueCharactersMax)}', whose name cannot be`;
    return { path, problem, unknownName: propertyName };
  }
  if (keyword === 'required') {
    const problem = `needs the member '${String(params['missingProperty'])}'`;
    return { path, problem, unknownName: undefined };
  }
  return { path, problem: wrongValue(error), unknownName: undefined };
}

/** The names in a JSON pointer. A number may be an index or a member name. */
function pathOf(pointer: string): ValuePath {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part) => (/^\d{1,15}$/.test(part) ? Number(part) : part));
}

/** The mistake for a member that the outermost value does not have. */
export function unknownMember(name: string, known: readonly string[]): Mistake {
  return { path: [], problem: unknownProblem(name, known, known), unknownName: name };
}

function unknownMemberProblem({ parentSchema, data }: ErrorObject, name: string): string {
  const properties: unknown = parentSchema?.['properties'];
  const known = typeof properties === 'object' && properties !== null ? properties : {};
  const names = Object.entries(known).flatMap(([name, member]) => (isNever(member) ? [] : [name]));
  const free = names.filter((other) => !isIn(data, other));
  return parentSchema?.['isSecret'] === true
    ? `has another member than allowed; ${theseWords(names)}`
    : unknownProblem(name, names, free);
}

/** `free`: the known names that are not used yet. */
function unknownProblem(name: string, known: readonly string[], free: readonly string[]): string {
  if (looksLikeKey(name)) return `has another member than allowed; ${theseWords(known)}`;
  const shown = cut(name, valueCharactersMax);
  return `has no member '${shown}'; ${theseWords(known)}${hint(name, free)}`;
}

function theseWords(names: readonly string[]): string {
  return `it may have: ${names.slice(0, namesShownMax).join(', ')}`;
}

/** True when a member is declared only so that messages can say why it is not allowed. */
function isNever(schema: unknown): boolean {
  return typeof schema === 'object' && schema !== null && 'not' in schema && !('type' in schema);
}

/** A member that is already present cannot be the intended one. */
function isIn(data: unknown, name: string): boolean {
  return typeof data === 'object' && data !== null && Object.hasOwn(data, name);
}

function wrongValue({ parentSchema, data, params }: ErrorObject): string {
  const expected = String(parentSchema?.['expected'] ?? 'something else');
  if (parentSchema?.['isSecret'] === true) return `must be ${expected}, not what it is`;
  const values: unknown = params['allowedValues'];
  const meant = Array.isArray(values) && typeof data === 'string' ? hint(data, values) : '';
  return `must be ${expected}, not ${shownValue(data)}${meant}`;
}

function hint(given: string, known: readonly unknown[]): string {
  const name = nearestName(given, known.map(String));
  return name === undefined ? '' : `. Did you mean '${name}'?`;
}

/** A value for messages; a possible secret is replaced. */
export function shownValue(value: unknown): string {
  if (Array.isArray(value))
    return value.length === 0 ? 'an empty list' : `a list of ${value.length}`;
  switch (typeof value) {
    case 'string':
      return looksLikeKey(value) ? 'what it is' : cut(JSON.stringify(value), valueCharactersMax);
    case 'object':
      return value === null ? 'null' : 'an object';
    case 'function':
      return 'a function';
    case 'undefined':
      return 'nothing';
    default:
      return String(value);
  }
}

function cut(text: string, charactersMax: number): string {
  return text.length <= charactersMax ? text : `${text.slice(0, charactersMax - 1)}…`;
}
