import { InvalidSettingError, Members, shownValue } from '../../base/members.js';

/** How much is let through. What is absent is as in the cloud service. */
export interface ThrottleRates {
  /** Entities written or returned. The cloud service: 2,000. */
  readonly entitiesPerSecondPerPartition?: number;
  /** Requests to tables and queues together. The cloud service: 20,000. */
  readonly requestsPerSecondPerAccount?: number;
  /** Messages written or returned. The cloud service: 2,000. */
  readonly messagesPerSecondPerQueue?: number;
}

/** Rates of every account, and what differs for some. */
export interface ThrottleLimits extends ThrottleRates {
  readonly accounts?: Readonly<Record<string, ThrottleRates>>;
}

/** `azure`: the limits of the cloud service. `off`: none. */
export type ThrottleSetting = 'azure' | 'off' | ThrottleLimits;

/** Published limits of a standard account (table-service §10.5). */
export const azureRates: Required<ThrottleRates> = Object.freeze({
  entitiesPerSecondPerPartition: 2_000,
  requestsPerSecondPerAccount: 20_000,
  messagesPerSecondPerQueue: 2_000,
});

/** Limits with every default filled in. */
export interface ParsedLimits {
  readonly rates: Required<ThrottleRates>;
  readonly accounts: ReadonlyMap<string, Required<ThrottleRates>>;
}

const rateNames = [
  'entitiesPerSecondPerPartition',
  'requestsPerSecondPerAccount',
  'messagesPerSecondPerQueue',
] as const;

const rateMin = 0.001;
const rateMax = 1e9;

/** Undefined: no limits. Throws `InvalidSettingError`. */
export function parseThrottle(value: unknown, place = 'throttle'): ParsedLimits | undefined {
  if (value === 'off') return undefined;
  if (value === 'azure') return { rates: azureRates, accounts: new Map() };
  if (typeof value !== 'object' || value === null) {
    throw new InvalidSettingError(
      `${place} must be 'azure', 'off' or an object with limits; it is ${shownValue(value)}.`,
    );
  }
  const members = new Members(place, value, [...rateNames, 'accounts']);
  const rates = ratesOf(members, azureRates);
  const accounts = members.get('accounts');
  if (accounts === undefined) return { rates, accounts: new Map() };
  return { rates, accounts: accountsOf(`${place}.accounts`, accounts, rates) };
}

function accountsOf(
  place: string,
  value: unknown,
  rates: Required<ThrottleRates>,
): ReadonlyMap<string, Required<ThrottleRates>> {
  const names = typeof value === 'object' && value !== null ? Object.keys(value) : [];
  const members = new Members(place, value, names);
  return new Map(
    names.map((name) => {
      const account = new Members(`${place}.${name}`, members.get(name), rateNames);
      return [name, ratesOf(account, rates)];
    }),
  );
}

function ratesOf(members: Members, otherwise: Required<ThrottleRates>): Required<ThrottleRates> {
  const rate = (name: (typeof rateNames)[number]): number =>
    members.number(name, { min: rateMin, max: rateMax }) ?? otherwise[name];
  return {
    entitiesPerSecondPerPartition: rate('entitiesPerSecondPerPartition'),
    requestsPerSecondPerAccount: rate('requestsPerSecondPerAccount'),
    messagesPerSecondPerQueue: rate('messagesPerSecondPerQueue'),
  };
}
