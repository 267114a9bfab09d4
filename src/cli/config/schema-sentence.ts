import type { ErrorObject } from 'ajv';
import { printable, truncated } from '../terminal.js';
import { looksLikeKey } from './key-like.js';
import { nearestName } from '../../base/nearest-name.js';
import type { MemberPath } from './structured-file.js';

/** Names listed as allowed, and characters of a value, at most. */
const namesShownMax = 40;
const valueCharactersMax = 60;

/** What is wrong with one value, and what would be right, for people. */
export function sentenceOf(error: ErrorObject, path: MemberPath): string {
  const subject = memberText(path);
  const { params } = error;
  switch (error.keyword) {
    case 'additionalProperties':
      return unknownMember(error, path);
    case 'required':
      return `${subject} needs the member '${String(params['missingProperty'])}'.`;
    case 'type':
      return `${subject} must be ${typesText(params['type'])}, not ${shown(error)}.`;
    case 'enum':
      return notAmong(error, subject, params['allowedValues']);
    case 'minimum':
      return `${subject} must be at least ${String(params['limit'])}, not ${shown(error)}.`;
    case 'maximum':
      return `${subject} must be at most ${String(params['limit'])}, not ${shown(error)}.`;
    case 'minLength':
      return `${subject} must not be empty.`;
    case 'minItems':
    case 'maxItems':
      return `${subject} ${bound(error.keyword)} ${String(params['limit'])} items. ${rule(error)}`;
    default:
      return `${subject} cannot be ${shown(error)}. ${rule(error)}`;
  }
}

/** `tables.port`, `accounts[0].keys`; the outermost value is the file. */
export function memberText(path: MemberPath): string {
  const text = path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${printable(part)}`))
    .join('');
  return text === '' ? 'The file' : truncated(text.replace(/^\./, ''), 200);
}

function unknownMember(error: ErrorObject, path: MemberPath): string {
  const known = membersOf(error);
  const where = path.length === 0 ? '' : ` in ${memberText(path)}`;
  const there = `there is: ${known.slice(0, namesShownMax).join(', ')}.`;
  const name = String(error.params['additionalProperty']);
  if (isSecret(error) || looksLikeKey(name)) {
    return `There is another member than allowed${where}; ${there}`;
  }
  const asked = truncated(printable(name), valueCharactersMax);
  return `There is no member '${asked}'${where}; ${there}${hint(name, known)}`;
}

function membersOf({ parentSchema }: ErrorObject): readonly string[] {
  const properties: unknown = parentSchema?.['properties'];
  return typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
}

function notAmong(error: ErrorObject, subject: string, allowed: unknown): string {
  const values = Array.isArray(allowed) ? allowed.map(String) : [];
  const meant = typeof error.data === 'string' ? hint(error.data, values) : '';
  return `${subject} must be ${listed(values)}, not ${shown(error)}.${meant}`;
}

function hint(given: string, known: readonly string[]): string {
  const name = nearestName(given, known);
  return name === undefined ? '' : ` Did you mean '${name}'?`;
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  null: 'empty',
};

function typesText(types: unknown): string {
  const names = Array.isArray(types) ? types.map(String) : String(types).split(',');
  return listed(names.map((name) => typeNames[name] ?? name));
}

function listed(words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} or ${last}`;
}

function bound(keyword: 'minItems' | 'maxItems'): string {
  return keyword === 'minItems' ? 'must have at least' : 'must have at most';
}

/** The value that was found, unless it is a secret. */
function shown(error: ErrorObject): string {
  if (isSecret(error)) return 'what it is';
  const { data } = error;
  if (typeof data === 'string' && looksLikeKey(data)) return 'what it is';
  if (Array.isArray(data)) return 'a list';
  if (typeof data === 'object' && data !== null) return 'an object';
  return truncated(printable(JSON.stringify(data) ?? 'nothing'), valueCharactersMax);
}

function isSecret({ parentSchema }: ErrorObject): boolean {
  return parentSchema?.['writeOnly'] === true;
}

/** What the schema says about the value. */
function rule({ parentSchema }: ErrorObject): string {
  return String(parentSchema?.['description'] ?? '');
}
