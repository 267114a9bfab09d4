import type { FileHandle } from 'node:fs/promises';
import { resolve } from 'node:path';
import { systemClock } from '../../base/clock.js';
import { unreachable } from '../../base/invariant.js';
import type { EdmType } from '../../model/edm/value.js';
import { TableClient, type WriteMode } from '../client/table-client.js';
import type { Connection } from '../client/connection.js';
import { CommandFailure, messageOf, RowError, UsageError } from '../terminal/failure.js';
import { briefRetries, retrying } from '../client/retry.js';
import { counted, grouped } from '../terminal/terminal.js';
import { csvRows, readCsvHeader, type CsvOptions } from './csv-rows.js';
import { entityOfRow, isSystemColumn, storedName, type EntityMapping } from './entity-mapping.js';
import { Importer } from './importer.js';
import type { ImportInput } from './input.js';
import type { InputFormat } from './input-format.js';
import { jsonArrayRows, jsonLinesRows } from './json-rows.js';
import { templateColumns } from './key-template.js';
import { reportProgress } from './progress.js';
import { Refusals } from './refusals.js';
import { ResumeState, type ImportProgress } from './resume-state.js';
import { LowWatermark } from './low-watermark.js';
import {
  emptyErrorsFile,
  openErrorsFile,
  requireErrorsFile,
  requireOtherFile,
} from './side-files.js';
import { sourceStart, type SourceRow } from './source-row.js';
import { notice } from '../terminal/notice.js';
import type { ProgressReport } from '../terminal/progress.js';

export interface ImportSettings {
  readonly connection: Connection;
  readonly table: string;
  readonly mapping: EntityMapping;
  readonly format: InputFormat;
  readonly types: ReadonlyMap<string, EdmType>;
  readonly csv: Omit<CsvOptions, 'types'>;
  readonly nested: 'refuse' | 'json';
  readonly mode: WriteMode;
  readonly create: boolean;
  readonly concurrency: number;
  readonly errorsPath: string | undefined;
  readonly statePath: string;
  readonly restart: boolean;
  readonly signal: AbortSignal;
}

export interface ImportResult {
  readonly refused: number;
  readonly isComplete: boolean;
}

const saveIntervalMs = 1000;
/**
 * The maximum number of rows between the oldest unwritten one and the newest: what a restart may
 * repeat.
 */
const pendingRowsMax = 100_000;

/** Imports an input, or resumes an interrupted import of it. */
export async function runImport(
  input: ImportInput,
  settings: ImportSettings,
): Promise<ImportResult> {
  const state = resumeState(input, settings);
  await checkSideFiles(input, settings);
  const before = await progressBefore(state, settings);
  const header = isCsv(settings.format) ? await checkedHeader(input, settings) : undefined;
  const { errorsPath } = settings;
  const errors = errorsPath === undefined ? undefined : await openErrorsFile(errorsPath);
  const client = new TableClient(settings.connection, { socketsMax: settings.concurrency });
  try {
    if (settings.create) await retrying(briefRetries, () => client.createTable(settings.table));
    // Otherwise the file would describe an earlier run if this one is stopped before it saves its
    // position.
    if (settings.restart) await state?.remove();
    const start = before?.position ?? sourceStart;
    const rows = readRows(input, settings, start, start.offset > 0 ? header : undefined);
    if (before === undefined) await emptyErrorsFile(errors);
    const files = { state, before, errors };
    return await new ImportRun(input, settings, client, files).run(rows);
  } finally {
    client.close();
    await errors?.close();
  }
}

interface ImportFiles {
  readonly state: ResumeState | undefined;
  /** Where the import resumes; undefined: at the beginning. */
  readonly before: ImportProgress | undefined;
  /** Takes the refused rows. */
  readonly errors: FileHandle | undefined;
}

class ImportRun {
  readonly #settings: ImportSettings;
  readonly #watermark: LowWatermark;
  readonly #refusals: Refusals;
  readonly #progress: ProgressReport;
  readonly #importer: Importer;
  readonly #startMs = systemClock.monotonicMs();
  readonly #state: ResumeState | undefined;
  #saving: Promise<void> = Promise.resolve();
  #canSave: boolean;
  #savedRow: number;
  #written = 0;
  #bytes: number;
  #lastRetryMs = -Infinity;

  constructor(
    input: ImportInput,
    settings: ImportSettings,
    client: TableClient,
    { state, before, errors }: ImportFiles,
  ) {
    const position = before?.position ?? sourceStart;
    const refusedBefore = before?.refused ?? 0;
    this.#settings = settings;
    this.#state = state;
    this.#canSave = state !== undefined;
    this.#watermark = new LowWatermark(position, refusedBefore);
    this.#bytes = position.offset;
    this.#savedRow = position.row;
    this.#refusals = new Refusals({
      print: (line) => this.#progress.line(line),
      file: errors,
      before: refusedBefore,
    });
    const writtenBefore = position.row - refusedBefore;
    this.#progress = reportProgress({
      stream: process.stderr,
      bytesTotal: input.identity?.bytes,
      counts: () => ({
        rows: writtenBefore + this.#written,
        refused: this.#refusals.count,
        bytes: this.#bytes,
      }),
    });
    this.#importer = new Importer({
      client,
      table: settings.table,
      mode: settings.mode,
      concurrency: settings.concurrency,
      signal: settings.signal,
      onRetry: (error) => this.#retrying(error),
      onWritten: (count) => (this.#written += count),
      onRefused: ({ entity, line }, code, message) =>
        this.#refusals.add({
          line,
          code,
          message,
          partitionKey: entity.partitionKey,
          rowKey: entity.rowKey,
        }),
    });
  }

  async run(rows: AsyncIterable<SourceRow>): Promise<ImportResult> {
    const timer = setInterval(() => this.#saveSoon(), saveIntervalMs);
    let isComplete = false;
    let lossOfErrors: string | undefined;
    try {
      isComplete = await this.#addAll(rows);
    } finally {
      clearInterval(timer);
      await this.#importer.settle();
      this.#saveSoon();
      await this.#saving;
      this.#progress.stop();
      lossOfErrors = await this.#refusals.close();
    }
    this.#summarise(isComplete);
    if (isComplete) await this.#state?.remove();
    if (lossOfErrors !== undefined) throw this.#errorsLost(lossOfErrors);
    return { refused: this.#refusals.count, isComplete };
  }

  /** Imports all rows. Returns false when it was stopped before the end. */
  async #addAll(rows: AsyncIterable<SourceRow>): Promise<boolean> {
    const { signal } = this.#settings;
    try {
      for await (const row of rows) {
        if (signal.aborted) return false;
        this.#bytes = row.end.offset;
        await this.#add(row);
        if (this.#watermark.pendingCount > pendingRowsMax) await this.#importer.writeOldest();
      }
      return await this.#importer.finish();
    } catch (error) {
      // A stop can surface as an error of the input or of a retry.
      if (!signal.aborted) throw error;
      return false;
    }
  }

  async #add({ line, end, columns }: SourceRow): Promise<void> {
    const ticket = this.#watermark.begin(end);
    try {
      if (columns instanceof RowError) throw columns;
      const entity = entityOfRow(columns, this.#settings.mapping);
      await this.#importer.add({ entity, line, ticket });
    } catch (error) {
      if (!(error instanceof RowError)) throw error;
      this.#refusals.add({ line, code: error.code, message: error.message });
      ticket.settle('refused');
    }
  }

  /** Saves the progress; saves do not overlap. */
  #saveSoon(): void {
    const { position, refused } = this.#watermark;
    const state = this.#state;
    if (state === undefined || !this.#canSave || position.row === this.#savedRow) return;
    this.#savedRow = position.row;
    const before = this.#saving;
    this.#saving = this.#save(state, { position, refused }, before);
  }

  async #save(state: ResumeState, progress: ImportProgress, before: Promise<void>): Promise<void> {
    await before;
    try {
      await state.save(progress);
    } catch (error) {
      this.#canSave = false;
      this.#progress.line(
        `Warning: the place of this import is not noted any more: ${messageOf(error)}`,
      );
    }
  }

  #retrying(error: unknown): void {
    const now = systemClock.monotonicMs();
    if (now - this.#lastRetryMs < saveIntervalMs) return;
    this.#lastRetryMs = now;
    this.#progress.line(`Retrying: ${messageOf(error)}`);
  }

  #errorsLost(reason: string): CommandFailure {
    const path = this.#settings.errorsPath ?? '';
    return new CommandFailure(
      `--errors ${path} lacks refused rows: ${reason}. Import again, with --restart, and name ` +
        'another file, or make room for this one.',
    );
  }

  #summarise(isComplete: boolean): void {
    const seconds = (systemClock.monotonicMs() - this.#startMs) / 1000;
    const rate = grouped(Math.round(this.#written / Math.max(seconds, 0.001)));
    const { count } = this.#refusals;
    notice(
      `${isComplete ? 'Imported' : 'Stopped after'} ${counted(this.#written, 'row')} into ` +
        `${this.#settings.table} in ${seconds.toFixed(1)} s (${rate} rows/s); ` +
        `${grouped(count)} refused.`,
    );
    if (!isComplete && this.#canSave) {
      notice('Run the same command again to continue.');
    }
  }
}

/** Only files of an earlier import may be overwritten. */
async function checkSideFiles(
  { name, identity }: ImportInput,
  { errorsPath, statePath }: ImportSettings,
): Promise<void> {
  if (identity !== undefined) await requireOtherFile(statePath, '--state', name);
  if (errorsPath === undefined) return;
  await requireOtherFile(errorsPath, '--errors', name);
  if (identity !== undefined && resolve(errorsPath) === resolve(statePath)) {
    throw new UsageError('--errors and --state name the same file.');
  }
  if (identity !== undefined) await requireOtherFile(errorsPath, '--errors', statePath);
  await requireErrorsFile(errorsPath);
}

function resumeState(
  input: ImportInput,
  { connection, table, mapping, format, types, csv, nested, mode, statePath }: ImportSettings,
): ResumeState | undefined {
  if (input.identity === undefined) return undefined;
  return new ResumeState(statePath, {
    input: input.identity,
    endpoint: connection.endpoint,
    table: table.toLowerCase(),
    mapping: {
      partitionKey: mapping.partitionKey.source,
      rowKey: mapping.rowKey.source,
      rename: Array.from(mapping.rename),
      omit: Array.from(mapping.omit),
      types: Array.from(types),
      ...csv,
      format,
      nested,
      mode,
    },
  });
}

async function progressBefore(
  state: ResumeState | undefined,
  { restart, statePath }: ImportSettings,
): Promise<ImportProgress | undefined> {
  if (state === undefined) return undefined;
  const progress = await state.load();
  if (restart || progress === 'none') return undefined;
  if (progress === 'other') {
    notice(
      `Note: ${statePath} is about another file, table or mapping; starting from the beginning.`,
    );
    return undefined;
  }
  notice(`Continuing after row ${grouped(progress.position.row)}, as ${statePath} says.`);
  return progress;
}

function isCsv(format: InputFormat): boolean {
  return format === 'csv' || format === 'tsv';
}

/** The CSV header, validated before anything is written. */
async function checkedHeader(
  input: ImportInput,
  { csv, types, mapping }: ImportSettings,
): ReturnType<typeof readCsvHeader> {
  async function* head(): AsyncGenerator<Buffer> {
    yield input.head;
  }
  const header = await readCsvHeader(head(), { ...csv, types });
  const names = new Set(header.map(({ name }) => name));
  for (const name of names) {
    if (!isSystemColumn(name) && !mapping.omit.has(name)) checkStoredName(name, mapping);
  }
  for (const template of [mapping.partitionKey, mapping.rowKey]) {
    for (const column of templateColumns(template)) {
      if (names.has(column)) continue;
      throw new UsageError(
        `The key template ${template.source} needs a column '${column}'. The columns are: ` +
          `${Array.from(names).join(', ')}.`,
      );
    }
  }
  return header;
}

function checkStoredName(name: string, mapping: EntityMapping): void {
  try {
    storedName(name, mapping);
  } catch (error) {
    throw error instanceof RowError ? new UsageError(error.message) : error;
  }
}

function readRows(
  input: ImportInput,
  { format, csv, types, nested }: ImportSettings,
  from: typeof sourceStart,
  header: Awaited<ReturnType<typeof readCsvHeader>> | undefined,
): AsyncIterable<SourceRow> {
  const bytes = input.bytes(from.offset);
  switch (format) {
    case 'csv':
    case 'tsv':
      return csvRows(bytes, { ...csv, types }, from, header);
    case 'jsonl':
      return jsonLinesRows(bytes, { types, nested }, from);
    case 'json':
      return jsonArrayRows(bytes, { types, nested }, from);
    default:
      return unreachable(format);
  }
}
