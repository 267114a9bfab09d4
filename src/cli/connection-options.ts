import { InvalidArgumentError, Option, type Command } from 'commander';
import { developmentConnection, parseConnectionString, type Connection } from './connection.js';
import { isTableName } from '../services/tables/table-name.js';

export interface ConnectionFlags {
  readonly connectionString?: string;
}

/** Adds the options that say which service a command talks to. */
export function withConnectionOptions(command: Command): Command {
  return command.addOption(
    new Option(
      '-c, --connection-string <text>',
      'the storage account: of this server, Azurite or the cloud. ' +
        'Default: the development account at 127.0.0.1:10002',
    ).env('AZURE_STORAGE_CONNECTION_STRING'),
  );
}

export function connectionOf({ connectionString }: ConnectionFlags): Connection {
  return connectionString === undefined || connectionString === ''
    ? developmentConnection()
    : parseConnectionString(connectionString);
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

/** A parser of whole numbers within bounds, for options. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}
