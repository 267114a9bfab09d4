import { unreachable } from '../../base/invariant.js';
import { InvalidSettingError } from '../../base/invalid-setting-error.js';
import type { Randomness } from '../../base/randomness.js';
import { checkedSetting } from '../../base/shape/setting.js';
import { sleep } from '../../base/async/sleep.js';
import type { Timers } from '../../base/async/timers.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { containerIdentity } from '../../model/services/services.js';
import { AbortedError } from '../pipeline/body.js';
import type { AdmittedRequest, Interceptor } from '../pipeline/interceptor.js';
import type { EntityName } from '../exchange/request-load.js';
import { resetConnection } from '../pipeline/fault-response.js';
import { chanceOf, seededChance, type Chance } from './chance.js';
import { matchesGlob, type Glob } from './glob.js';
import { parseRule, type FaultScope, type ParsedRule } from './parse-rule.js';
import type { FaultRule } from './rule.js';
import { faultRulesShape, rulesMax } from './rule-shape.js';

/** A rule of a running server and its counters. */
export interface FaultState {
  readonly name: string;
  readonly rule: FaultRule;
  /** The number of matching requests. */
  readonly matched: number;
  readonly fired: number;
}

/** The fault rules of a running server. Changes apply from the next request. */
export interface Faults {
  /** In the order in which they are tried. */
  list(): readonly FaultState[];
  /** Appends a rule. Throws `InvalidSettingError` when it is malformed or its name is taken. */
  add(rule: FaultRule): FaultState;
  /** Replaces all rules; their counters begin at 0. Throws as `add` does. */
  replace(rules: readonly FaultRule[]): void;
  /** Removes a rule; returns false when there was none. */
  remove(name: string): boolean;
  clear(): void;
}

export interface FaultInjectorOptions {
  readonly randomness: Randomness;
  readonly timers: Timers;
  /** The operation names that rules may use. */
  readonly operations: readonly string[];
}

interface ArmedRule extends ParsedRule {
  readonly chance: Chance;
  matched: number;
  fired: number;
}

/**
 * Injects faults. Rules are tried in order. The latencies of the rules that fire add up, and the
 * first rule with another effect ends the search. A rule counts as fired when its effect happens.
 */
export class FaultInjector implements Faults, Interceptor {
  readonly #options: FaultInjectorOptions;
  readonly #chance: Chance;
  #rules: readonly ArmedRule[] = [];

  constructor(options: FaultInjectorOptions) {
    this.#options = options;
    this.#chance = chanceOf(options.randomness);
  }

  get isActive(): boolean {
    return this.#rules.length > 0;
  }

  list(): readonly FaultState[] {
    return this.#rules.map(stateOf);
  }

  add(rule: FaultRule): FaultState {
    const armed = this.#arm(rule, { path: 'rule', before: this.#rules });
    this.#rules = checked([...this.#rules, armed]);
    return stateOf(armed);
  }

  replace(rules: readonly FaultRule[]): void {
    this.prepare(rules)();
  }

  /** Validates as `replace` does; the returned function makes the change and cannot fail. */
  prepare(rules: readonly FaultRule[]): () => void {
    checkedSetting(faultRulesShape, rules, 'faults');
    const armed: ArmedRule[] = [];
    for (const [index, rule] of rules.entries()) {
      armed.push(this.#arm(rule, { path: `faults[${index}]`, before: armed }));
    }
    checked(armed);
    return () => (this.#rules = armed);
  }

  remove(name: string): boolean {
    const left = this.#rules.filter(({ rule }) => rule.name !== name);
    const removed = left.length < this.#rules.length;
    this.#rules = left;
    return removed;
  }

  clear(): void {
    this.#rules = [];
  }

  async beforeWork(request: AdmittedRequest): Promise<void> {
    const fired = this.#fire(request);
    if (fired.length === 0) return;
    const { exchange } = request;
    exchange.fault = fired.map(({ rule }) => rule.name).join(',');
    const latencyMs = fired.reduce((sum, rule) => sum + latencyOf(rule), 0);
    const { timers } = this.#options;
    if (latencyMs > 0) await request.standAside(() => sleep(timers, latencyMs));
    const effect = fired.at(-1)?.effect;
    switch (effect?.kind) {
      case undefined:
        return;
      case 'error': {
        const busySeconds = effect.code === 'ServerBusy' ? 1 : undefined;
        const { retryAfterSeconds = busySeconds } = effect;
        throw new StorageError(effect.code, { retryAfterSeconds });
      }
      case 'reset':
        resetConnection(exchange);
        throw new AbortedError('a fault has reset the connection');
      case 'drop-response':
        exchange.responseFault = { kind: 'drop' };
        return;
      case 'truncate':
        exchange.responseFault = { kind: 'truncate', bytes: effect.bytes };
        return;
      default:
        return unreachable(effect);
    }
  }

  #fire(request: AdmittedRequest): readonly ArmedRule[] {
    const fired: ArmedRule[] = [];
    let entities: readonly EntityName[] | undefined;
    const entitiesOnce = () => (entities ??= request.entities());
    for (const rule of this.#rules) {
      if (!fits(rule.scope, request, entitiesOnce)) continue;
      rule.matched += 1;
      if (rule.matched <= rule.skip || rule.fired >= rule.count) continue;
      if (rule.chance() >= rule.probability) continue;
      rule.fired += 1;
      fired.push(rule);
      if (rule.effect !== undefined) break;
    }
    return fired;
  }

  #arm(
    rule: FaultRule,
    { path, before }: { readonly path: string; readonly before: readonly ArmedRule[] },
  ): ArmedRule {
    const { operations } = this.#options;
    const parsed = parseRule(rule, { path, defaultName: freeName(before), operations });
    const { seed } = parsed;
    const chance = seed === undefined ? this.#chance : seededChance(seed);
    return { ...parsed, chance, matched: 0, fired: 0 };
  }
}

function freeName(rules: readonly ArmedRule[]): string {
  const taken = new Set(rules.map(({ rule }) => rule.name));
  let number = rules.length + 1;
  while (taken.has(`fault-${number}`)) number += 1;
  return `fault-${number}`;
}

function checked(rules: readonly ArmedRule[]): readonly ArmedRule[] {
  if (rules.length > rulesMax) {
    throw new InvalidSettingError(`There may be at most ${rulesMax} fault rules.`);
  }
  const names = new Set<string>();
  for (const { rule } of rules) {
    if (names.has(rule.name)) {
      throw new InvalidSettingError(
        `There are two fault rules of the name '${rule.name}': give each its own, or none.`,
      );
    }
    names.add(rule.name);
  }
  return rules;
}

function stateOf({ rule, matched, fired }: ArmedRule): FaultState {
  return { name: rule.name, rule, matched, fired };
}

function latencyOf({ latencies, chance }: ArmedRule): number {
  let sum = 0;
  for (const { min, max } of latencies) sum += max > min ? min + chance() * (max - min) : min;
  return sum;
}

function fits(
  scope: FaultScope,
  { exchange, operation }: AdmittedRequest,
  entities: () => readonly EntityName[],
): boolean {
  const { service, method, account, resource } = exchange;
  if (scope.service !== undefined && scope.service !== service) return false;
  // Records use a separate name for a get or a peek of one message.
  const named = any(scope.operation, operation) || any(scope.operation, exchange.operation);
  if (!named || !any(scope.method, method) || !any(scope.account, account?.name)) return false;
  const container = resource && containerIdentity(service, resource);
  if (!any(scope.resource, container)) return false;
  if (scope.partitionKey === undefined && scope.rowKey === undefined) return true;
  return entities().some(
    ({ partitionKey, rowKey }) =>
      any(scope.partitionKey, partitionKey) && any(scope.rowKey, rowKey),
  );
}

function any(globs: readonly Glob[] | undefined, text: string | undefined): boolean {
  if (globs === undefined) return true;
  return text !== undefined && globs.some((glob) => matchesGlob(glob, text));
}
