import { readFileSync } from 'node:fs';
import type { ErrorObject } from 'ajv';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { UsageError } from '../failure.js';
import { sentenceOf } from './schema-sentence.js';
import type { MemberPath, StructuredFile } from './structured-file.js';

/** The published schemas, in the folder of that name. */
export type SchemaName = 'config' | 'seed';

/** What one message lists, at most. */
const problemsShownMax = 10;

const compiled = new Map<SchemaName, ValidateFunction>();

/**
 * Throws `UsageError` unless the value of a file is as its schema says. The message has one line for
 * each problem: where it is, what is allowed and what was probably meant. Values of members that
 * are `writeOnly`, which are secrets, are never in it.
 */
export function checkSchema(schema: SchemaName, file: StructuredFile, value: unknown): void {
  const validate = validatorOf(schema);
  if (validate(value)) return;
  const problems = relevant(validate.errors ?? []);
  const shown = new Set<string>();
  let seen = 0;
  for (const error of problems) {
    // To find a place and a likely name takes long: it is done for what is shown only.
    if (shown.size === problemsShownMax) break;
    shown.add(problemOf(error, file));
    seen += 1;
  }
  const hidden = problems.length - seen;
  if (hidden > 0) shown.add(`and ${hidden} more`);
  throw new UsageError([...shown].join('\n'));
}

function validatorOf(name: SchemaName): ValidateFunction {
  const known = compiled.get(name);
  if (known !== undefined) return known;
  const url = new URL(`../../../../schemas/${name}.schema.json`, import.meta.url);
  const schema = JSON.parse(readFileSync(url, 'utf8')) as Record<string, unknown>;
  const ajv = new Ajv2020({ allErrors: true, verbose: true, strictTypes: false });
  const validate = ajv.compile(schema);
  compiled.set(name, validate);
  return validate;
}

/** Without those that only repeat that another one was found. */
function relevant(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const own = errors.filter(({ keyword }) => keyword !== 'if' && keyword !== 'propertyNames');
  return own.length > 0 ? own : errors;
}

function problemOf(error: ErrorObject, file: StructuredFile): string {
  const path = pathOf(error.instancePath);
  const named = error.keyword === 'additionalProperties' || error.propertyName !== undefined;
  const name = String(error.params['additionalProperty'] ?? error.propertyName);
  const place = named ? file.place([...path, name], 'name') : file.place(path);
  return `${place}: ${sentenceOf(error, path)}`;
}

/** A JSON pointer as names; a number names a position in an array or a member, all the same. */
function pathOf(pointer: string): MemberPath {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}
