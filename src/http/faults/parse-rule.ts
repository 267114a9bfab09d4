import { InvalidSettingError, Members } from '../../base/members.js';
import { matchesGlob, parseGlob, type Glob } from './glob.js';
import {
  faultErrorCodes,
  type FaultEffect,
  type FaultPattern,
  type FaultRange,
  type FaultRule,
} from './rule.js';

/** What a request must fit, read once. Absent members fit every request. */
export interface FaultScope {
  readonly service: 'table' | 'queue' | undefined;
  readonly operation: readonly Glob[] | undefined;
  readonly method: readonly Glob[] | undefined;
  readonly account: readonly Glob[] | undefined;
  /** Table names in lower case, or queue names. */
  readonly resource: readonly Glob[] | undefined;
  readonly partitionKey: readonly Glob[] | undefined;
  readonly rowKey: readonly Glob[] | undefined;
}

/** A rule that has been checked. */
export interface ParsedRule {
  /** As given, without what it does not say. */
  readonly rule: FaultRule & { readonly name: string };
  readonly scope: FaultScope;
  readonly probability: number;
  readonly seed: number | undefined;
  readonly skip: number;
  readonly count: number;
  readonly latencies: readonly FaultRange[];
  readonly effect: Exclude<FaultEffect, { readonly kind: 'latency' }> | undefined;
}

const ruleMembers = [
  'name',
  'service',
  'operation',
  'method',
  'account',
  'table',
  'queue',
  'partitionKey',
  'rowKey',
  'probability',
  'seed',
  'skip',
  'count',
  'effect',
] as const;

const nameForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
const countMax = Number.MAX_SAFE_INTEGER;
const latencyMsMax = 600_000;
const retryAfterSecondsMax = 3600;
const patternCharactersMax = 2048;
const patternsMax = 100;
const effectsMax = 10;
const seedMax = 2 ** 32 - 1;

export interface ParseRuleContext {
  /** Where the rule stands, for messages. */
  readonly place: string;
  /** The name of a rule that has none. */
  readonly defaultName: string;
  /** Names that operations can have. */
  readonly operations: readonly string[];
}

/** Throws `InvalidSettingError`. */
export function parseRule(value: unknown, context: ParseRuleContext): ParsedRule {
  const members = new Members(context.place, value, ruleMembers);
  const name = members.string('name') ?? context.defaultName;
  if (!nameForm.test(name)) {
    throw members.wrong('name', '1 to 100 letters, digits and . _ -, the first no sign');
  }
  const effects = effectsOf(members);
  const effect = effects.find((each) => each.kind !== 'latency');
  return {
    rule: { ...(value as FaultRule), name },
    scope: scopeOf(members, context.operations),
    probability: members.number('probability', { min: 0, max: 1 }) ?? 1,
    seed: members.number('seed', { min: 0, max: seedMax, whole: true }),
    skip: members.number('skip', { min: 0, max: countMax, whole: true }) ?? 0,
    count: members.number('count', { min: 1, max: countMax, whole: true }) ?? Infinity,
    latencies: effects.flatMap(latenciesOf),
    effect,
  };
}

function latenciesOf(effect: FaultEffect): readonly FaultRange[] {
  if (effect.kind !== 'latency') return [];
  return [typeof effect.ms === 'number' ? fixed(effect.ms) : effect.ms];
}

function fixed(ms: number): FaultRange {
  return { min: ms, max: ms };
}

function scopeOf(members: Members, operations: readonly string[]): FaultScope {
  const operation = globsOf(members, 'operation');
  const known = operations.some((each) => operation?.some((glob) => matchesGlob(glob, each)));
  if (operation !== undefined && !known) {
    throw members.wrong('operation', `the name of an operation: ${operations.join(', ')}`);
  }
  const table = globsOf(members, 'table', (text) => text.toLowerCase());
  const queue = globsOf(members, 'queue');
  const service = members.oneOf('service', ['table', 'queue']) ?? serviceOf(table, queue);
  const partitionKey = globsOf(members, 'partitionKey');
  const rowKey = globsOf(members, 'rowKey');
  const needsTables = table !== undefined || partitionKey !== undefined || rowKey !== undefined;
  if ((queue !== undefined && service === 'table') || (needsTables && service === 'queue')) {
    throw new InvalidSettingError(
      `${members.place} fits no request: a request is to a table or to a queue, and only entities ` +
        'of tables have keys.',
    );
  }
  return {
    service,
    operation,
    method: globsOf(members, 'method', (text) => text.toUpperCase()),
    account: globsOf(members, 'account'),
    resource: table ?? queue,
    partitionKey,
    rowKey,
  };
}

function serviceOf(
  table: readonly Glob[] | undefined,
  queue: readonly Glob[] | undefined,
): FaultScope['service'] {
  if (table !== undefined) return 'table';
  return queue === undefined ? undefined : 'queue';
}

function globsOf(
  members: Members,
  name: keyof FaultRule,
  spelled: (text: string) => string = (text) => text,
): readonly Glob[] | undefined {
  const texts: FaultPattern | undefined = members.strings(name);
  if (texts === undefined) return undefined;
  if (texts.length > patternsMax) throw members.wrong(name, `at most ${patternsMax} patterns`);
  return texts.map((text) => {
    const glob = text.length > patternCharactersMax ? undefined : parseGlob(spelled(text));
    if (glob !== undefined) return glob;
    throw members.wrong(
      name,
      `a pattern of at most ${patternCharactersMax} characters with * and ?, where a backslash ` +
        'stands in front of a character that is meant literally',
    );
  });
}

function effectsOf(members: Members): readonly FaultEffect[] {
  const value = members.get('effect');
  const kinds = 'an object with kind error, drop-response, reset, truncate or latency';
  if (value === undefined) throw members.wrong('effect', kinds);
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (list.length === 0 || list.length > effectsMax) {
    throw members.wrong('effect', `1 to ${effectsMax} effects`);
  }
  const effects = list.map((each, index) => {
    const place = `${members.place}.effect`;
    return parseEffect(Array.isArray(value) ? `${place}[${index}]` : place, each);
  });
  if (effects.filter(({ kind }) => kind !== 'latency').length > 1) {
    throw new InvalidSettingError(
      `${members.place}.effect has several effects that exclude each other: give latencies and ` +
        'at most one other.',
    );
  }
  return effects;
}

const effectMembers = {
  error: ['kind', 'code', 'retryAfterSeconds'],
  'drop-response': ['kind'],
  reset: ['kind'],
  truncate: ['kind', 'bytes'],
  latency: ['kind', 'ms'],
} as const;

const effectKinds = ['error', 'drop-response', 'reset', 'truncate', 'latency'] as const;

function parseEffect(place: string, value: unknown): FaultEffect {
  const all = new Members(place, value, [...new Set(Object.values(effectMembers).flat())]);
  const kind = all.oneOf('kind', effectKinds);
  if (kind === undefined) throw all.wrong('kind', `one of ${effectKinds.join(', ')}`);
  const members = new Members(place, value, effectMembers[kind]);
  switch (kind) {
    case 'error': {
      const code = members.oneOf('code', faultErrorCodes);
      if (code === undefined) throw members.wrong('code', `one of ${faultErrorCodes.join(', ')}`);
      const seconds = { min: 0, max: retryAfterSecondsMax, whole: true };
      const retryAfterSeconds = members.number('retryAfterSeconds', seconds);
      return { kind, code, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) };
    }
    case 'truncate': {
      const bytes = members.number('bytes', { min: 0, max: countMax, whole: true });
      return { kind, ...(bytes === undefined ? {} : { bytes }) };
    }
    case 'latency':
      return { kind, ms: latencyOf(members) };
    default:
      return { kind };
  }
}

function latencyOf(members: Members): FaultRange {
  const bounds = { min: 0, max: latencyMsMax };
  const value = members.get('ms');
  if (typeof value !== 'object' || value === null) {
    const ms = members.number('ms', bounds);
    if (ms === undefined) throw members.wrong('ms', 'milliseconds or {min, max}');
    return fixed(ms);
  }
  const range = new Members(`${members.place}.ms`, value, ['min', 'max']);
  const [min, max] = [range.number('min', bounds), range.number('max', bounds)];
  if (min === undefined || max === undefined || min > max) {
    throw members.wrong('ms', 'milliseconds or {min, max}, where min is not above max');
  }
  return { min, max };
}
