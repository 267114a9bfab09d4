import { own } from '../../base/own.js';
import type { RowProperties, WireValue } from '../rows/row.js';
import type { WireReader, WireWriter } from './property.js';
import type { StoredAs } from './stored-entity.js';

const nothingFiner: StoredAs['finer'] = Object.freeze({});

/** Reads the properties of a row, and collects the ticks that a `Date` does not show. */
export class RowReader implements WireReader {
  readonly #properties: RowProperties;
  #finer: Record<string, bigint> | undefined;

  constructor(properties: RowProperties) {
    this.#properties = properties;
  }

  get finer(): StoredAs['finer'] {
    return this.#finer ?? nothingFiner;
  }

  get(name: string): WireValue | undefined {
    return own(this.#properties, name);
  }

  keepFiner(name: string, ticks: bigint): void {
    this.#finer ??= {};
    this.#finer[name] = ticks;
  }
}

/** Collects the properties of a row for one entity. */
export class RowBuilder implements WireWriter {
  readonly properties: Record<string, WireValue>;
  readonly #before: StoredAs | undefined;

  constructor(before?: StoredAs) {
    this.properties = { ...before?.unknown };
    this.#before = before;
  }

  put(name: string, wire: WireValue): void {
    this.properties[name] = wire;
  }

  finer(name: string): bigint | undefined {
    return this.#before === undefined ? undefined : own(this.#before.finer, name);
  }
}
