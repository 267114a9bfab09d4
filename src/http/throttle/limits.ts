import { checkedSetting } from '../../base/shape/setting.js';
import {
  choice,
  either,
  member,
  number,
  object,
  record,
  type MembersOf,
  type Shape,
} from '../../base/shape/shape.js';

/** The limits. Absent members have the values of the cloud service. */
export interface ThrottleRates {
  /** Entities written or returned. The cloud service: 2,000. */
  readonly entitiesPerSecondPerPartition?: number;
  /** Requests to all services together. The cloud service: 20,000. */
  readonly requestsPerSecondPerAccount?: number;
  /** Messages written or returned. The cloud service: 2,000. */
  readonly messagesPerSecondPerQueue?: number;
  /** Requests that name the blob. The cloud service: 500. */
  readonly requestsPerSecondPerBlob?: number;
}

/** The rates of all accounts, and overrides for some. */
export interface ThrottleLimits extends ThrottleRates {
  readonly accounts?: Readonly<Record<string, ThrottleRates>>;
}

/** `azure`: the limits of the cloud service. `off`: none. */
export type ThrottleSetting = 'azure' | 'off' | ThrottleLimits;

/** Published limits of a standard account (table-service §10.5) and of a blob. */
export const azureRates: Required<ThrottleRates> = Object.freeze({
  entitiesPerSecondPerPartition: 2_000,
  requestsPerSecondPerAccount: 20_000,
  messagesPerSecondPerQueue: 2_000,
  requestsPerSecondPerBlob: 500,
});

/** Limits with all defaults. */
export interface ParsedLimits {
  readonly rates: Required<ThrottleRates>;
  readonly accounts: ReadonlyMap<string, Required<ThrottleRates>>;
}

const rate = number(0.001, 1e9, {
  definition: {
    name: 'rate',
    description: 'A number a second. What is absent is as in the cloud service.',
  },
});

const rateMembers: MembersOf<ThrottleRates> = {
  entitiesPerSecondPerPartition: member(
    rate,
    `Entities written or returned. The cloud service: ${azureRates.entitiesPerSecondPerPartition}.`,
    500,
  ),
  requestsPerSecondPerAccount: member(
    rate,
    `Requests to all services together. The cloud service: ${azureRates.requestsPerSecondPerAccount}.`,
    1000,
  ),
  messagesPerSecondPerQueue: member(
    rate,
    `Messages written or returned. The cloud service: ${azureRates.messagesPerSecondPerQueue}.`,
    500,
  ),
  requestsPerSecondPerBlob: member(
    rate,
    `Requests that name a blob. The cloud service: ${azureRates.requestsPerSecondPerBlob}.`,
    100,
  ),
};

const ratesShape: Shape<ThrottleRates> = object<ThrottleRates>(rateMembers, {
  definition: { name: 'rates', description: 'Limits of one account.' },
});

export const throttleShape: Shape<ThrottleSetting> = either(
  [
    choice(['azure', 'off']),
    object<ThrottleLimits>({
      ...rateMembers,
      accounts: member(record(ratesShape), 'What differs for some accounts, by name.', {
        orders: { requestsPerSecondPerAccount: 100 },
      }),
    }),
  ],
  { expected: `azure, off or an object with ${Object.keys(rateMembers).join(', ')}` },
);

/** Undefined: no limits. Throws `InvalidSettingError`. */
export function parseThrottle(value: unknown): ParsedLimits | undefined {
  const setting = checkedSetting(throttleShape, value, 'throttle');
  if (setting === 'off') return undefined;
  if (setting === 'azure') return { rates: azureRates, accounts: new Map() };
  const rates = ratesOf(setting, azureRates);
  const { accounts = {} } = setting;
  const ofAccounts = Object.entries(accounts).map(
    ([name, own]) => [name, ratesOf(own, rates)] as const,
  );
  return { rates, accounts: new Map(ofAccounts) };
}

function ratesOf(
  rates: ThrottleRates,
  otherwise: Required<ThrottleRates>,
): Required<ThrottleRates> {
  return {
    entitiesPerSecondPerPartition:
      rates.entitiesPerSecondPerPartition ?? otherwise.entitiesPerSecondPerPartition,
    requestsPerSecondPerAccount:
      rates.requestsPerSecondPerAccount ?? otherwise.requestsPerSecondPerAccount,
    messagesPerSecondPerQueue:
      rates.messagesPerSecondPerQueue ?? otherwise.messagesPerSecondPerQueue,
    requestsPerSecondPerBlob: rates.requestsPerSecondPerBlob ?? otherwise.requestsPerSecondPerBlob,
  };
}
