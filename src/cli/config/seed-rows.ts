import type { SeedEntity, SeedValue } from '../../app/index.js';
import { unreachable } from '../../base/invariant.js';
import { textOfValue } from '../client/edm-text.js';
import { CommandFailure, messageOf, RowError } from '../terminal/failure.js';
import { csvRows } from '../import/csv-rows.js';
import { detectFormat, type InputFormat } from '../import/input-format.js';
import { openInput, type ImportInput } from '../import/input.js';
import { jsonArrayRows, jsonLinesRows } from '../import/json-rows.js';
import { sourceStart, type SourceRow } from '../import/source-row.js';

/** Entities of files that a seed names, streamed. */
export class SeedRows {
  readonly #origins = new WeakMap<SeedEntity, string>();
  bytesTotal = 0;
  bytesRead = 0;

  /** Throws `CommandFailure` when a file cannot be read. */
  async open(files: readonly string[]): Promise<AsyncIterable<SeedEntity>> {
    const inputs: ImportInput[] = [];
    for (const file of files) {
      const input = await openInput(file);
      this.bytesTotal += input.identity?.bytes ?? 0;
      inputs.push(input);
    }
    return this.#entities(inputs);
  }

  /** `file:line` of an entity that came from a file. */
  originOf(entity: SeedEntity): string | undefined {
    return this.#origins.get(entity);
  }

  async *#entities(inputs: readonly ImportInput[]): AsyncGenerator<SeedEntity> {
    for (const input of inputs) {
      const before = this.bytesRead;
      for await (const { line, end, columns } of named(input)) {
        if (columns instanceof RowError) {
          throw new CommandFailure(`${input.name}:${line}: ${columns.message}`);
        }
        const entity = entityOf(columns);
        this.#origins.set(entity, `${input.name}:${line}`);
        this.bytesRead = before + end.offset;
        yield entity;
      }
    }
  }
}

/** The rows of a file. Errors about the whole file name it. */
async function* named(input: ImportInput): AsyncGenerator<SourceRow> {
  try {
    yield* rowsOf(input);
  } catch (error) {
    throw new CommandFailure(`${input.name}: ${messageOf(error)}`, { cause: error });
  }
}

const csvOptions = { types: new Map(), infer: false, keepEmpty: false } as const;

function rowsOf(input: ImportInput): AsyncIterable<SourceRow> {
  const format: InputFormat = detectFormat(input.name, input.head);
  switch (format) {
    case 'csv':
      return csvRows(input.bytes(0), { ...csvOptions, delimiter: ',' }, sourceStart);
    case 'tsv':
      return csvRows(input.bytes(0), { ...csvOptions, delimiter: '\t' }, sourceStart);
    case 'json':
      return jsonArrayRows(input.bytes(0), {}, sourceStart);
    case 'jsonl':
      return jsonLinesRows(input.bytes(0), {}, sourceStart);
    default:
      return unreachable(format);
  }
}

/** The columns with their types, keys as plain texts. */
function entityOf(columns: Exclude<SourceRow['columns'], RowError>): SeedEntity {
  const entries = columns.map(({ name, value }): [string, SeedValue] => {
    const text = textOfValue(value);
    const isKey = name === 'PartitionKey' || name === 'RowKey';
    return [name, isKey || value.type === 'Edm.String' ? text : { type: value.type, value: text }];
  });
  return Object.fromEntries(entries);
}
