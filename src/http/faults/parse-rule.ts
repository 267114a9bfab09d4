import { InvalidSettingError } from '../../base/invalid-setting-error.js';
import { checkedSetting } from '../../base/shape/setting.js';
import {
  containerIdentity,
  containerNounOf,
  serviceNames,
  services,
  type ServiceName,
} from '../../model/services/services.js';
import { matchesGlob, parseGlob, type Glob } from './glob.js';
import type { FaultEffect, FaultPattern, FaultRange, FaultRule } from './rule.js';
import { faultRuleShape, type FaultEffectInput, type FaultRuleInput } from './rule-shape.js';

/** The parsed conditions of a rule. Absent members match every request. */
export interface FaultScope {
  readonly service: ServiceName | undefined;
  readonly operation: readonly Glob[] | undefined;
  readonly method: readonly Glob[] | undefined;
  readonly account: readonly Glob[] | undefined;
  /** Identities of containers: see `containerIdentity`. */
  readonly resource: readonly Glob[] | undefined;
  /** Also the names of blobs. */
  readonly partitionKey: readonly Glob[] | undefined;
  readonly rowKey: readonly Glob[] | undefined;
}

/** A validated rule. */
export interface ParsedRule {
  /** As given, without absent members. */
  readonly rule: FaultRule & { readonly name: string };
  readonly scope: FaultScope;
  readonly probability: number;
  readonly seed: number | undefined;
  readonly skip: number;
  readonly count: number;
  readonly latencies: readonly FaultRange[];
  readonly effect: Exclude<FaultEffect, { readonly kind: 'latency' }> | undefined;
}

export interface ParseRuleContext {
  /** The path of the rule, for messages. */
  readonly path: string;
  /** The name of a rule without one. */
  readonly defaultName: string;
  /** The operation names that rules may use. */
  readonly operations: readonly string[];
}

/** Throws `InvalidSettingError`. */
export function parseRule(value: unknown, context: ParseRuleContext): ParsedRule {
  const { path } = context;
  const input = checkedSetting(faultRuleShape, value, path);
  const effects = effectsOf(input, path);
  return {
    rule: { ...(value as FaultRule), name: input.name ?? context.defaultName },
    scope: scopeOf(input, context),
    probability: input.probability ?? 1,
    seed: input.seed,
    skip: input.skip ?? 0,
    count: input.count ?? Infinity,
    latencies: effects.flatMap(latenciesOf),
    effect: effects.find((each) => each.kind !== 'latency'),
  };
}

function latenciesOf(effect: FaultEffect): readonly FaultRange[] {
  if (effect.kind !== 'latency') return [];
  return [typeof effect.ms === 'number' ? { min: effect.ms, max: effect.ms } : effect.ms];
}

function scopeOf(input: FaultRuleInput, { path, operations }: ParseRuleContext): FaultScope {
  const globs = (name: PatternName, spelled?: (text: string) => string) =>
    globsOf(input[name], `${path}.${name}`, spelled);
  const operation = globs('operation');
  const known = operations.some((each) => operation?.some((glob) => matchesGlob(glob, each)));
  if (operation !== undefined && !known) {
    throw new InvalidSettingError(
      `${path}.operation must be the name of an operation: ${operations.join(', ')}.`,
    );
  }
  const { service, resource } = containersOf(input, path);
  const [partitionKey, rowKey, blob] = [globs('partitionKey'), globs('rowKey'), globs('blob')];
  const needsKeys = partitionKey !== undefined || rowKey !== undefined;
  if (needsKeys && service !== undefined && !haveKeys(service)) throw fitsNothing(path);
  return {
    service,
    operation,
    method: globs('method', (text) => text.toUpperCase()),
    account: globs('account'),
    resource,
    partitionKey: partitionKey ?? blob,
    rowKey,
  };
}

/** The containers that a rule names, and their service. */
function containersOf(
  input: FaultRuleInput,
  path: string,
): Pick<FaultScope, 'service' | 'resource'> {
  const named = serviceNames.flatMap((service) => {
    const noun = containerNounOf(service);
    const spelled = (text: string): string => containerIdentity(service, text);
    const resource = globsOf(input[noun], `${path}.${noun}`, spelled);
    return resource === undefined ? [] : [{ service, resource }];
  });
  const [first] = named;
  const ofBlob: ServiceName | undefined = input.blob === undefined ? undefined : 'blob';
  const service = input.service ?? first?.service ?? ofBlob;
  const isOther = (each: ServiceName | undefined) => each !== undefined && each !== service;
  if (isOther(ofBlob) || named.some((each) => isOther(each.service))) throw fitsNothing(path);
  return { service, resource: first?.resource };
}

function haveKeys(service: ServiceName): boolean {
  return services[service].container.partitions === 'by-key';
}

function fitsNothing(path: string): InvalidSettingError {
  const containers = serviceNames.map((service) => `to a ${containerNounOf(service)}`);
  const withKeys = serviceNames.filter(haveKeys).map((service) => services[service].plural);
  return new InvalidSettingError(
    `${path} fits no request: a request is ${containers.join(' or ')}, and only entities of ` +
      `${withKeys.join(' and ')} have keys.`,
  );
}

type PatternName = 'operation' | 'method' | 'account' | 'partitionKey' | 'rowKey' | 'blob';

function globsOf(
  pattern: FaultPattern | undefined,
  path: string,
  spelled: (text: string) => string = (text) => text,
): readonly Glob[] | undefined {
  if (pattern === undefined) return undefined;
  const texts = typeof pattern === 'string' ? [pattern] : pattern;
  return texts.map((text) => {
    const glob = parseGlob(spelled(text));
    if (glob !== undefined) return glob;
    throw new InvalidSettingError(
      `${path} must be a pattern with * and ?, where a backslash stands in front of a character ` +
        'that is meant literally.',
    );
  });
}

function effectsOf({ effect }: FaultRuleInput, path: string): readonly FaultEffect[] {
  const isList = Array.isArray(effect);
  const list: readonly FaultEffectInput[] = isList ? effect : [effect];
  const effects = list.map((each, at) =>
    parseEffect(each, isList ? `${path}.effect[${at}]` : `${path}.effect`),
  );
  if (effects.filter(({ kind }) => kind !== 'latency').length > 1) {
    throw new InvalidSettingError(
      `${path}.effect has several effects that exclude each other: give latencies and at most ` +
        'one other.',
    );
  }
  return effects;
}

const effectMembers: Readonly<Record<FaultEffectInput['kind'], readonly string[]>> = {
  error: ['kind', 'code', 'retryAfterSeconds'],
  'drop-response': ['kind'],
  reset: ['kind'],
  truncate: ['kind', 'bytes'],
  latency: ['kind', 'ms'],
};

/** The members of an effect's kind; refuses missing and extra ones. */
function parseEffect(input: FaultEffectInput, path: string): FaultEffect {
  const { kind, code, retryAfterSeconds, bytes, ms } = input;
  const members = effectMembers[kind];
  const given = Object.entries(input).filter(([, value]) => value !== undefined);
  const other = given.find(([name]) => !members.includes(name))?.[0];
  if (other !== undefined) {
    throw new InvalidSettingError(
      `${path} has no member '${other}' when its kind is ${kind}; it may have: ${members.join(', ')}.`,
    );
  }
  switch (kind) {
    case 'error':
      if (code === undefined) throw missing(path, 'code', kind);
      return { kind, code, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) };
    case 'truncate':
      return { kind, ...(bytes === undefined ? {} : { bytes }) };
    case 'latency':
      if (ms === undefined) throw missing(path, 'ms', kind);
      if (typeof ms === 'object' && ms.min > ms.max) {
        throw new InvalidSettingError(`${path}.ms must have a min that is not above its max.`);
      }
      return { kind, ms };
    default:
      return { kind };
  }
}

function missing(path: string, name: string, kind: string): InvalidSettingError {
  return new InvalidSettingError(`${path} needs the member '${name}' when its kind is ${kind}.`);
}
