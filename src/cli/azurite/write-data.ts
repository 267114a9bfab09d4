import {
  createServer,
  SeedError,
  type SeedAccount,
  type SeedData,
  type SeedProgress,
} from '../../app/index.js';
import { systemRandomness } from '../../base/randomness.js';
import { defaultServiceProperties } from '../../services/accounts/service-properties.js';
import type { ServiceProperties } from '../../model/resources/service-properties.js';
import type { SignedIdentifier } from '../../model/resources/signed-identifier.js';
import { parseConnectionString } from '../client/connection.js';
import { CommandFailure } from '../terminal/failure.js';
import { QueueClient } from '../client/queue-client.js';
import { ServiceError } from '../client/service-error.js';
import { startFailure } from '../start/failure.js';
import { TableClient } from '../client/table-client.js';
import type { Refuse, StoredAccount, StoredAccounts } from './stored-data.js';

const accountKeyBytes = 64;

export interface WriteOptions {
  /** The data directory. */
  readonly location: string;
  readonly ifExists: 'skip' | 'replace';
  /** Called repeatedly with the progress so far. */
  readonly progress: (done: SeedProgress) => void;
}

/**
 * Writes the imported data to a data directory through a server with random keys of its own. It can
 * be interrupted and repeated: with `skip`, existing data are unchanged.
 */
export async function writeAccounts(
  accounts: StoredAccounts,
  options: WriteOptions,
  refuse: Refuse,
): Promise<void> {
  const key = (): string => Buffer.from(systemRandomness.bytes(accountKeyBytes)).toString('base64');
  const { location, ifExists, progress } = options;
  const init: SeedData = {
    accounts: Object.fromEntries([...accounts].map(([name, account]) => [name, seedOf(account)])),
    ifExists,
    progress,
  };
  await using server = await createServer({
    location,
    accounts: [...accounts.keys()].map((name) => ({ name, key: key() })),
    init,
  }).catch((error: unknown) => {
    throw error instanceof SeedError
      ? new CommandFailure(error.message.split('\n'))
      : startFailure(error);
  });
  for (const [name, account] of accounts) {
    await writeSettings(account, server.connectionString(name), { name, refuse });
  }
}

function seedOf({ tables, queues }: StoredAccount): SeedAccount {
  return {
    tables: Object.fromEntries([...tables].map(([name, { entities }]) => [name, { entities }])),
    queues: Object.fromEntries(
      [...queues].map(([name, { metadata, messages }]) => [name, { metadata, messages }]),
    ),
  };
}

/** Writes policies and service properties, which replace existing ones. */
async function writeSettings(
  { tables, queues, tableProperties, queueProperties }: StoredAccount,
  connection: string,
  { name, refuse }: { readonly name: string; readonly refuse: Refuse },
): Promise<void> {
  const table = new TableClient(parseConnectionString(connection, 'table'));
  const queue = new QueueClient(parseConnectionString(connection, 'queue'));
  try {
    await setAll(table, tables, tableProperties, { location: `${name}, tables`, refuse });
    await setAll(queue, queues, queueProperties, { location: `${name}, queues`, refuse });
  } finally {
    table.close();
    queue.close();
  }
}

interface SettingsClient {
  setPolicies(container: string, policies: readonly SignedIdentifier[]): Promise<void>;
  setProperties(properties: ServiceProperties): Promise<void>;
}

async function setAll(
  client: SettingsClient,
  containers: ReadonlyMap<string, { readonly policies: readonly SignedIdentifier[] }>,
  properties: Partial<ServiceProperties> | undefined,
  { location, refuse }: { readonly location: string; readonly refuse: Refuse },
): Promise<void> {
  const attempt = async (what: string, work: Promise<void>): Promise<void> => {
    try {
      await work;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      refuse(`${location}: ${what}`, `${error.code}: ${error.message}`);
    }
  };
  for (const [container, { policies }] of containers) {
    if (policies.length === 0) continue;
    await attempt(`policies of ${container}`, client.setPolicies(container, policies));
  }
  if (properties === undefined) return;
  const all = { ...defaultServiceProperties, ...properties };
  await attempt('service properties', client.setProperties(all));
}
