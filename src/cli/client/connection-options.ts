import { InvalidArgumentError, Option, type Command } from 'commander';
import { services as descriptors, type ServiceName } from '../../model/services/services.js';
import { checkQueueName } from '../../services/queues/queue-name.js';
import { isTableName } from '../../services/tables/table-name.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { developmentConnection, parseConnectionString, type Connection } from './connection.js';

export interface ConnectionFlags {
  readonly connectionString?: string;
}

/** Adds the options that select a storage account. */
export function withConnectionOptions(
  command: Command,
  ...services: readonly ServiceName[]
): Command {
  const ports = services.map((service) => descriptors[service].emulatorPort).join(' and ');
  return command.addOption(
    new Option(
      '-c, --connection-string <text>',
      'the storage account: of this server, Azurite or the cloud. ' +
        `Default: the development account at 127.0.0.1:${ports}`,
    ).env('AZURE_STORAGE_CONNECTION_STRING'),
  );
}

export function connectionOf(
  { connectionString }: ConnectionFlags,
  service: ServiceName,
): Connection {
  return connectionString === undefined || connectionString === ''
    ? developmentConnection(service)
    : parseConnectionString(connectionString, service);
}

export function tableOption(): Option {
  return new Option('-t, --table <name>', 'the table')
    .makeOptionMandatory()
    .argParser((name: string) => {
      if (isTableName(name)) return name;
      throw new InvalidArgumentError(
        'A table name has 3 to 63 letters and digits, a letter first.',
      );
    });
}

export function queueOption(): Option {
  return new Option('-q, --queue <name>', 'the queue').makeOptionMandatory().argParser(queueName);
}

function queueName(name: string): string {
  try {
    checkQueueName(name);
    return name;
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    throw new InvalidArgumentError(
      'A queue name has 3 to 63 lower-case letters, digits and single dashes between them.',
    );
  }
}

/** `noun`: `table`, `queue` or `container`. */
export function createOption(noun: string): Option {
  return new Option('--create', `create the ${noun} when it does not exist`);
}
