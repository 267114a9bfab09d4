import { SeedError, type SeedEntity, type SeedMessage } from '../../app/index.js';
import type { ServiceProperties } from '../../model/resources/service-properties.js';
import type { SignedIdentifier } from '../../model/resources/signed-identifier.js';
import { messageOf } from '../terminal/failure.js';

/** The data of one Azurite account, as a seed. */
export interface StoredAccount {
  readonly tables: Map<string, StoredTable>;
  readonly queues: Map<string, StoredQueue>;
  tableProperties?: Partial<ServiceProperties>;
  queueProperties?: Partial<ServiceProperties>;
}

export interface StoredTable {
  readonly entities: readonly SeedEntity[];
  readonly policies: readonly SignedIdentifier[];
}

export interface StoredQueue {
  readonly metadata: Readonly<Record<string, string>>;
  readonly messages: readonly SeedMessage[];
  readonly policies: readonly SignedIdentifier[];
}

/** Called with the location and the reason for each item that cannot be imported. */
export type Refuse = (location: string, reason: string) => void;

/** Accounts by name. */
export type StoredAccounts = Map<string, StoredAccount>;

export function accountIn(accounts: StoredAccounts, name: string): StoredAccount {
  const known = accounts.get(name);
  if (known !== undefined) return known;
  const account: StoredAccount = { tables: new Map(), queues: new Map() };
  accounts.set(name, account);
  return account;
}

/** Runs a check; reports what it throws as a refusal and returns false. */
export function isAccepted(location: string, refuse: Refuse, check: () => unknown): boolean {
  try {
    check();
    return true;
  } catch (error) {
    refuse(location, error instanceof SeedError ? reasonOf(error) : messageOf(error));
    return false;
  }
}

function reasonOf({ path, reason }: SeedError): string {
  const name = path.at(-1);
  return typeof name === 'string' ? `${name}: ${reason}` : reason;
}
