import { unreachable } from '../../base/invariant.js';
import { edmTypeOf } from '../../wire/edm/literal.js';
import type { EdmType, EdmValue, Entity, Property } from '../../model/edm/value.js';
import { JsonLexer } from '../../wire/odata/json-lexer.js';
import { textOfDouble, textOfValue, valueOfJsonNumber, valueOfText } from './edm-text.js';
import { RowError } from '../terminal/failure.js';

export interface EntityJsonOptions {
  /** Types that override those of the text. */
  readonly types?: ReadonlyMap<string, EdmType>;
  /** Objects and arrays: refuse the row, or store their JSON as a string. */
  readonly nested?: 'refuse' | 'json';
  /** True: Timestamp is a column. Default: it is ignored. */
  readonly timestamp?: boolean;
}

const annotationSuffix = '@odata.type';
const nestingMax = 32;

type Member =
  | { readonly kind: 'string' | 'number' | 'word' | 'nested'; readonly text: string }
  | { readonly kind: 'null' };

/**
 * Parses one object as typed columns, keys included, in the order of the text. Numbers keep their
 * digits. Null columns and `odata.*` members are ignored. Throws `RowError`.
 */
export function parseEntityJson(text: string, options: EntityJsonOptions = {}): Property[] {
  const lexer = new JsonLexer(text);
  const columns = readEntityJson(lexer, options);
  lexer.expectEnd();
  return columns;
}

/** As `parseEntityJson`, from a lexer that is positioned before the object. */
export function readEntityJson(lexer: JsonLexer, options: EntityJsonOptions): Property[] {
  const members = new Map<string, Member>();
  const annotations = new Map<string, EdmType>();
  lexer.expect(0x7b);
  if (!lexer.accept(0x7d)) {
    do {
      const name = lexer.string();
      lexer.expect(0x3a);
      if (name.startsWith('odata.')) lexer.skipValue();
      else if (name === 'Timestamp' && options.timestamp !== true) lexer.skipValue();
      else if (name.endsWith(annotationSuffix)) {
        annotations.set(name.slice(0, -annotationSuffix.length), annotatedType(name, lexer));
      } else if (name.includes('@odata.')) lexer.skipValue();
      else if (members.has(name)) {
        throw new RowError('DuplicatePropertiesSpecified', `Column ${name} occurs twice.`);
      } else members.set(name, readMember(lexer));
    } while (lexer.accept(0x2c));
    lexer.expect(0x7d);
  }
  return columnsOf(members, annotations, options);
}

function annotatedType(name: string, lexer: JsonLexer): EdmType {
  const text = lexer.string();
  const type = edmTypeOf(text);
  if (type === undefined) throw new RowError('InvalidInput', `${name} names no type: '${text}'`);
  return type;
}

function readMember(lexer: JsonLexer): Member {
  switch (lexer.peek()) {
    case 0x22:
      return { kind: 'string', text: lexer.string() };
    case 0x6e:
      lexer.word('null');
      return { kind: 'null' };
    case 0x74:
    case 0x66:
      return { kind: 'word', text: readBoolean(lexer) };
    case 0x7b:
    case 0x5b:
      return { kind: 'nested', text: readNested(lexer, 1) };
    default:
      return { kind: 'number', text: lexer.number() };
  }
}

function readBoolean(lexer: JsonLexer): string {
  const word = lexer.peek() === 0x74 ? 'true' : 'false';
  lexer.word(word);
  return word;
}

/** The compact JSON of an object or array; numbers keep their digits. */
function readNested(lexer: JsonLexer, depth: number): string {
  if (depth > nestingMax) {
    throw new RowError('InvalidInput', `Values are nested more than ${nestingMax} levels deep.`);
  }
  const isObject = lexer.accept(0x7b);
  if (!isObject) lexer.expect(0x5b);
  const closer = isObject ? 0x7d : 0x5d;
  const parts: string[] = [];
  if (!lexer.accept(closer)) {
    do {
      parts.push(
        isObject ? `${readMemberName(lexer)}${readValue(lexer, depth)}` : readValue(lexer, depth),
      );
    } while (lexer.accept(0x2c));
    lexer.expect(closer);
  }
  return isObject ? `{${parts.join(',')}}` : `[${parts.join(',')}]`;
}

function readMemberName(lexer: JsonLexer): string {
  const name = lexer.string();
  lexer.expect(0x3a);
  return `${JSON.stringify(name)}:`;
}

function readValue(lexer: JsonLexer, depth: number): string {
  const code = lexer.peek();
  if (code === 0x7b || code === 0x5b) return readNested(lexer, depth + 1);
  const member = readMember(lexer);
  if (member.kind === 'null') return 'null';
  return member.kind === 'string' ? JSON.stringify(member.text) : member.text;
}

function columnsOf(
  members: ReadonlyMap<string, Member>,
  annotations: ReadonlyMap<string, EdmType>,
  { types, nested = 'refuse' }: EntityJsonOptions,
): Property[] {
  const columns: Property[] = [];
  for (const [name, member] of members) {
    if (member.kind === 'null') continue;
    const annotated = name === 'Timestamp' ? 'Edm.DateTime' : annotations.get(name);
    const type = types?.get(name) ?? annotated;
    if (member.kind === 'nested' && nested === 'refuse') {
      throw new RowError(
        'NestedValue',
        `Column ${name} holds an object or array; --nested json stores its JSON text.`,
      );
    }
    columns.push({ name, value: valueOfMember(name, member.kind, member.text, type) });
  }
  return columns;
}

function valueOfMember(
  name: string,
  kind: Exclude<Member['kind'], 'null'>,
  text: string,
  type: EdmType | undefined,
): EdmValue {
  if (type !== undefined) return valueOfText(type, text, name);
  if (kind === 'number') return valueOfJsonNumber(text, name);
  if (kind === 'word') return { type: 'Edm.Boolean', value: text === 'true' };
  return { type: 'Edm.String', value: text };
}

/** One member of a JSON object, with an annotation when the value does not show its type. */
function memberJson({ name, value }: Property): string {
  const key = JSON.stringify(name);
  switch (value.type) {
    case 'Edm.String':
      return `${key}:${JSON.stringify(value.value)}`;
    case 'Edm.Int32':
    case 'Edm.Boolean':
      return `${key}:${value.value}`;
    case 'Edm.Double':
      if (Number.isFinite(value.value)) return `${key}:${textOfDouble(value.value)}`;
      return annotated(name, 'Edm.Double', String(value.value));
    case 'Edm.Int64':
    case 'Edm.DateTime':
    case 'Edm.Guid':
    case 'Edm.Binary':
      return annotated(name, value.type, textOfValue(value));
    default:
      return unreachable(value);
  }
}

function annotated(name: string, type: EdmType, text: string): string {
  const annotation = JSON.stringify(name + annotationSuffix);
  return `${annotation}:"${type}",${JSON.stringify(name)}:${JSON.stringify(text)}`;
}

/** Columns as one line of JSON that `parseEntityJson` parses to the same columns. */
export function columnsJson(columns: readonly Property[]): string {
  return `{${columns.map(memberJson).join(',')}}`;
}

/** The body of a request that writes the entity. */
export function entityJson({ partitionKey, rowKey, properties }: Entity): string {
  const keys = `"PartitionKey":${JSON.stringify(partitionKey)},"RowKey":${JSON.stringify(rowKey)}`;
  return properties.length === 0 ? `{${keys}}` : `{${keys},${columnsJson(properties).slice(1)}`;
}
