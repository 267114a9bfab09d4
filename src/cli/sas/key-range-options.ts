import { InvalidArgumentError, Option, type Command } from 'commander';
import type { TableSas } from '../../wire/auth/sas/fields.js';
import { forbiddenKeyCharacterAt } from '../../model/edm/key.js';
import { UsageError } from '../terminal/failure.js';

/** The key range of a token for a table, both ends included. */
export interface KeyRangeFlags {
  readonly startPk?: string;
  readonly startRk?: string;
  readonly endPk?: string;
  readonly endRk?: string;
}

export type KeyRange = Pick<
  TableSas,
  'startPartitionKey' | 'startRowKey' | 'endPartitionKey' | 'endRowKey'
>;

export function withKeyRangeOptions(command: Command): Command {
  return command
    .addOption(keyOption('--start-pk <key>', 'the first PartitionKey that it allows'))
    .addOption(keyOption('--start-rk <key>', 'the first RowKey in the first partition'))
    .addOption(keyOption('--end-pk <key>', 'the last PartitionKey that it allows'))
    .addOption(keyOption('--end-rk <key>', 'the last RowKey in the last partition'));
}

function keyOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser(key);
}

function key(text: string): string {
  if (text === '') {
    throw new InvalidArgumentError('A signature cannot tell an empty key from none: leave it out.');
  }
  if (forbiddenKeyCharacterAt(text) >= 0) {
    throw new InvalidArgumentError('A key has no /, \\, #, ? and no control characters.');
  }
  return text;
}

/** Throws `UsageError` for a range that contains no key, or an incomplete one. */
export function keyRangeOf({ startPk, startRk, endPk, endRk }: KeyRangeFlags): KeyRange {
  if (startRk !== undefined && startPk === undefined) {
    throw new UsageError('--start-rk needs --start-pk: it bounds the first partition.');
  }
  if (endRk !== undefined && endPk === undefined) {
    throw new UsageError('--end-rk needs --end-pk: it bounds the last partition.');
  }
  if (startPk !== undefined && endPk !== undefined) {
    const isSame = startPk === endPk && startRk !== undefined && endRk !== undefined;
    if (startPk > endPk || (isSame && startRk > endRk)) {
      throw new UsageError('The range of keys ends before it starts.');
    }
  }
  return {
    startPartitionKey: startPk,
    startRowKey: startRk,
    endPartitionKey: endPk,
    endRowKey: endRk,
  };
}

/** `, from ('a', '1') to ('b')`; empty for all rows. */
export function rangeInWords(range: KeyRange): string {
  const from = keysText(range.startPartitionKey, range.startRowKey);
  const to = keysText(range.endPartitionKey, range.endRowKey);
  return (from === '' ? '' : ` from ${from}`) + (to === '' ? '' : ` to ${to}`);
}

function keysText(partitionKey: string | undefined, rowKey: string | undefined): string {
  if (partitionKey === undefined) return '';
  const row = rowKey === undefined ? '' : ` and RowKey '${rowKey}'`;
  return `PartitionKey '${partitionKey}'${row}`;
}
