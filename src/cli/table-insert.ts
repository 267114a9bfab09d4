import { Command, Option } from 'commander';
import { checkEntity, checkNewKeys } from '../services/tables/limits.js';
import { propertyBagOf } from '../model/bag/bag.js';
import { isPropertyName } from '../model/edm/property-name.js';
import { StorageError } from '../model/errors/storage-error.js';
import type { Entity, Property } from '../model/edm/value.js';
import { TableClient, type WriteMode } from './client/table-client.js';
import {
  connectionOf,
  createOption,
  tableOption,
  withConnectionOptions,
  type ConnectionFlags,
} from './client/connection-options.js';
import { requireType, valueOfText } from './client/edm-text.js';
import { parseEntityJson } from './client/entity-json.js';
import { RowError, UsageError } from './terminal/failure.js';
import { briefRetries, retrying } from './client/retry.js';
import { withCreateHint } from './client/service-error.js';
import { notice } from './terminal/notice.js';

interface InsertFlags extends ConnectionFlags {
  readonly table: string;
  readonly json?: string;
  readonly upsert?: 'replace' | 'merge';
  readonly create?: boolean;
}

export function tableInsertCommand(): Command {
  const command = new Command('insert')
    .summary('write one row')
    .description(
      'Write one row, given as JSON, as name=value pairs, or as both. A pair is a string unless ' +
        'it names its type: age:int32=5. Types: string, int32, int64, double, boolean, datetime, ' +
        'guid, binary (base64).',
    )
    .argument('[pairs...]', 'columns as name=value or name:type=value')
    .addOption(tableOption())
    .option(
      '-j, --json <object>',
      'the row as a JSON object; annotations such as age@odata.type hold',
    )
    .addOption(
      new Option(
        '--upsert <how>',
        'write even if the row exists: replace all of it, or merge into it',
      ).choices(['replace', 'merge']),
    )
    .addOption(createOption('table'));
  return withConnectionOptions(command, 'table')
    .addHelpText(
      'after',
      `
Examples:
  tabularium table insert -t people PartitionKey=Sales RowKey=0001 Name=Ann age:int32=41
  tabularium table insert -t people --json '{"PartitionKey":"Sales","RowKey":"0002","Name":"Bo"}'
  tabularium table insert -t people --upsert merge PartitionKey=Sales RowKey=0001 Rating:double=4.5`,
    )
    .action(insert);
}

async function insert(pairs: string[], flags: InsertFlags): Promise<void> {
  const entity = entityOf(flags.json, pairs);
  const mode: WriteMode = flags.upsert ?? 'insert';
  const client = new TableClient(connectionOf(flags, 'table'));
  try {
    if (flags.create === true) {
      await retrying(briefRetries, () => client.createTable(flags.table));
    }
    // Not retried: a repeated insert could find its own first attempt and report a conflict.
    const policy = mode === 'insert' ? { ...briefRetries, attemptsMax: 1 } : briefRetries;
    await retrying(policy, () => client.write(flags.table, entity, mode));
  } catch (error) {
    throw withCreateHint(error);
  } finally {
    client.close();
  }
  notice(`Wrote 1 row to ${flags.table}.`);
}

function entityOf(json: string | undefined, pairs: readonly string[]): Entity {
  try {
    const columns = [
      ...(json === undefined ? [] : parseEntityJson(json)),
      ...pairs.map(pairColumn),
    ];
    const { partitionKey, rowKey, properties } = splitKeys(columns);
    checkNewKeys(partitionKey, rowKey);
    checkEntity({ partitionKey, rowKey, properties: propertyBagOf(properties) });
    return { partitionKey, rowKey, properties };
  } catch (error) {
    if (error instanceof RowError) throw new UsageError(error.message);
    if (error instanceof StorageError) {
      throw new UsageError(json === undefined ? error.message : `${error.message} (in --json?)`);
    }
    throw error;
  }
}

function pairColumn(pair: string): Property {
  const equals = pair.indexOf('=');
  if (equals <= 0) throw new UsageError(`'${pair}' is no name=value pair.`);
  const [name = '', typeName] = pair.slice(0, equals).split(':');
  const type = typeName === undefined ? 'Edm.String' : requireType(typeName);
  return { name, value: valueOfText(type, pair.slice(equals + 1), name) };
}

function splitKeys(columns: readonly Property[]): Entity {
  const seen = new Set<string>();
  for (const { name } of columns) {
    if (seen.has(name)) throw new UsageError(`The column ${name} is given twice.`);
    if (!isPropertyName(name)) {
      throw new UsageError(`'${name}' cannot name a column: use letters, digits and _.`);
    }
    seen.add(name);
  }
  return {
    partitionKey: keyOf(columns, 'PartitionKey'),
    rowKey: keyOf(columns, 'RowKey'),
    properties: columns.filter(({ name }) => !systemColumns.has(name)),
  };
}

const systemColumns: ReadonlySet<string> = new Set(['PartitionKey', 'RowKey', 'Timestamp']);

function keyOf(columns: readonly Property[], name: string): string {
  const value = columns.find((column) => column.name === name)?.value;
  if (value === undefined) throw new UsageError(`The row needs a ${name}.`);
  if (value.type !== 'Edm.String') throw new UsageError(`The ${name} must be a string.`);
  return value.value;
}
