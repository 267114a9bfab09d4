import { own } from '../../base/own.js';
import { codecOf, type EntityCodec } from '../definition/codec.js';
import { storedNameOf, type AnyDefinition } from '../definition/entity-definition.js';
import { parseKey } from '../definition/key-template.js';
import type { AnyProperty } from '../definition/property.js';
import type { PartitionOf } from '../definition/shapes.js';
import { ValueError } from '../rows/model-error.js';
import type { RowProperties, StoredRow, WireValue } from '../rows/row.js';
import { compareTexts } from '../rows/text-order.js';
import { pageRowsMax, type TableGateway } from '../table/gateway.js';
import type { KeyBounds } from '../table/row-selection.js';
import { uniform, type Distribution } from './facts/distribution.js';
import { encryptionBytes } from './sizes/entity-size.js';
import type { FactsByName, FactsOf, PropertyFacts, SizeRange } from './facts/property-facts.js';
import { ValueCounter } from './facts/value-counter.js';
import { nameOfValue } from './facts/value-name.js';

/** The options of `measure`. */
export interface MeasureOptions<D extends AnyDefinition> {
  /** Maximum rows to read; 5,000 when absent. */
  readonly sample?: number;
  /**
   * Partitions at which to begin, each with an equal part of the sample. When absent, the beginning
   * of the table, which may not be representative.
   */
  readonly from?: readonly PartitionOf<D>[];
}

/** The measurements of a table. `explain` takes them: `{ ...measured, operations: [...] }`. */
export interface Measurement<D extends AnyDefinition> {
  /** Rows of the type that were read. Replace it by the true number unless `isWhole`. */
  readonly rows: number;
  readonly partitions: Distribution;
  readonly properties: FactsOf<D['properties']>;
  /** Whether the whole table was read. */
  readonly isWhole: boolean;
  /** Rows of other types that were read. */
  readonly otherRows: number;
  /** Range reads that were sent. */
  readonly requests: number;
}

const sampleDefault = 5_000;
/** Further pages allowed, because a service may end pages early, and return empty ones. */
const shortPagesMax = 10;

/**
 * Measures a live table: sizes of properties, how many entities have them, and the distributions of
 * their values and of the PartitionKeys. Reads at most `sample` rows, with one range read for each
 * 1,000 of them and for each partition of `from`, and at most ten more for each of those when pages
 * are short. Writes nothing.
 */
export async function measure<D extends AnyDefinition>(
  definition: D,
  table: TableGateway,
  { sample = sampleDefault, from = [] }: MeasureOptions<D> = {},
): Promise<Measurement<D>> {
  if (!(sample >= 1 && Number.isFinite(sample))) {
    throw new ValueError(`a sample has a number of rows from 1, not ${sample}`);
  }
  const meter = new TableMeter<D>(definition);
  const starts = from.map((partition) => codecOf(definition).partitionKey(partition));
  const places = [...new Set(starts)].sort(compareTexts);
  const segments: readonly (string | undefined)[] = places.length === 0 ? [undefined] : places;
  const rowsEach = Math.ceil(sample / segments.length);
  let isWhole = places.length === 0;
  let requests = 0;
  for (const [index, start] of segments.entries()) {
    const partitionKey = { from: start, before: start && segments[index + 1] };
    const found = await readSegment(table, partitionKey, rowsEach, (row) => meter.add(row));
    requests += found.requests;
    isWhole &&= found.isEnd;
  }
  return meter.measurement(isWhole, requests);
}

async function readSegment(
  table: TableGateway,
  partitionKey: KeyBounds,
  rowsMax: number,
  take: (row: StoredRow) => void,
): Promise<{ readonly requests: number; readonly isEnd: boolean }> {
  const requestsMax = Math.ceil(rowsMax / pageRowsMax) + shortPagesMax;
  let left = rowsMax;
  let cursor: string | undefined;
  for (let requests = 1; requests <= requestsMax; requests++) {
    const page = await table.page({
      partitionKey,
      limit: Math.min(left, pageRowsMax),
      cursor,
    });
    page.rows.forEach(take);
    left -= page.rows.length;
    cursor = page.cursor;
    if (cursor === undefined || left <= 0) return { requests, isEnd: cursor === undefined };
  }
  return { requests: requestsMax, isEnd: false };
}

/** Aggregates the rows of one type. */
class TableMeter<D extends AnyDefinition> {
  readonly #definition: D;
  readonly #codec: EntityCodec<D>;
  readonly #partitions = new ValueCounter();
  readonly #properties: Readonly<Record<string, PropertyMeter>>;
  #rows = 0;
  #otherRows = 0;

  constructor(definition: D) {
    this.#definition = definition;
    this.#codec = codecOf(definition);
    this.#properties = metersOf(definition.properties, '');
  }

  add(row: StoredRow): void {
    if (!this.#codec.matches(row)) {
      this.#otherRows += 1;
      return;
    }
    this.#rows += 1;
    this.#partitions.add(row.partitionKey);
    const { partitionKey, rowKey } = this.#definition;
    const inKeys = {
      ...parseKey(partitionKey, row.partitionKey),
      ...parseKey(rowKey, row.rowKey),
    };
    for (const [name, meter] of Object.entries(this.#properties)) {
      meter.add(row.properties, inKeys[name]);
    }
  }

  measurement(isWhole: boolean, requests: number): Measurement<D> {
    return Object.freeze({
      rows: this.#rows,
      partitions: this.#partitions.all(isWhole) ?? uniform(1),
      properties: factsOf(this.#properties, this.#rows, isWhole) as FactsOf<D['properties']>,
      isWhole,
      otherRows: this.#otherRows,
      requests,
    });
  }
}

function metersOf(
  properties: Readonly<Record<string, AnyProperty>>,
  prefix: string,
): Readonly<Record<string, PropertyMeter>> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [
      name,
      new PropertyMeter(`${prefix}${storedNameOf(name, property)}`, property),
    ]),
  );
}

function factsOf(
  meters: Readonly<Record<string, PropertyMeter>>,
  rows: number,
  isWhole: boolean,
): FactsByName {
  return Object.freeze(
    Object.fromEntries(
      Object.entries(meters).map(([name, meter]) => [name, meter.facts(rows, isWhole)]),
    ),
  );
}

/** A date, a month or a longer time, largest unit first: `2026-11-23`, `20261123`, `2026-11`. */
const timeText =
  /^(?:19|20)\d\d(?:-(?:0[1-9]|1[0-2])(?:-[0-3]\d)?|(?:0[1-9]|1[0-2])[0-3]\d)(?:\D|$)/;

/** Aggregates the values of one property. */
class PropertyMeter {
  readonly #storedName: string;
  readonly #isEncrypted: boolean;
  readonly #inner: Readonly<Record<string, PropertyMeter>> | undefined;
  readonly #values = new ValueCounter();
  #present = 0;
  #measured = 0;
  #units = 0;
  #unitsMax = 0;
  #times = 0;
  #texts = 0;

  constructor(storedName: string, { model }: AnyProperty) {
    this.#storedName = storedName;
    this.#isEncrypted = model.flags.has('encrypted');
    this.#inner =
      model.kind === 'embedded' ? metersOf(model.properties ?? {}, `${storedName}_`) : undefined;
  }

  /** Returns whether the row has the property. */
  add(stored: RowProperties, inKeys?: unknown): boolean {
    const found =
      this.#inner === undefined
        ? this.#addValue(own(stored, this.#storedName), inKeys)
        : Object.values(this.#inner).filter((meter) => meter.add(stored)).length > 0;
    if (found) this.#present += 1;
    return found;
  }

  #addValue(wire: WireValue | undefined, inKeys: unknown): boolean {
    const value = wire?.value ?? inKeys;
    if (value === undefined) return false;
    if (typeof value === 'string') this.#addText(value);
    else if (value instanceof Uint8Array) {
      this.#addUnits(Math.max(0, value.length - (this.#isEncrypted ? encryptionBytes : 0)));
    }
    const name = nameOfValue(value);
    if (name !== undefined) this.#values.add(name);
    return true;
  }

  #addText(text: string): void {
    this.#addUnits(text.length);
    this.#texts += 1;
    if (timeText.test(text)) this.#times += 1;
  }

  #addUnits(units: number): void {
    this.#measured += 1;
    this.#units += units;
    this.#unitsMax = Math.max(this.#unitsMax, units);
  }

  facts(rows: number, isWhole: boolean): PropertyFacts {
    const values = this.#values.distribution(isWhole);
    const size: SizeRange | undefined =
      this.#measured === 0
        ? undefined
        : { average: this.#units / this.#measured, maximum: this.#unitsMax };
    return Object.freeze({
      present: rows === 0 ? 1 : this.#present / rows,
      ...(size === undefined ? {} : { size }),
      ...(values === undefined ? {} : { values }),
      ...(this.#texts > 0 && this.#times === this.#texts ? { isTime: true } : {}),
      ...(this.#inner === undefined
        ? {}
        : {
            properties: factsOf(this.#inner, this.#present, isWhole) as Readonly<
              Record<string, PropertyFacts>
            >,
          }),
    });
  }
}
