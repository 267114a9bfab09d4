import { stampOf } from '../sim/model.js';

/** The content of a row. Serial numbers are never used twice. */
export interface Row {
  readonly serial: number;
  readonly pad: string;
}

export interface StoredRow {
  readonly etag: string;
  readonly row: Row;
}

/** Where a row is: table, partition and row key in one text. */
export type RowId = string;

/** The writes of one request: rows by id, undefined for deletions. */
export type Changes = ReadonlyMap<RowId, Row | undefined>;

export interface SeenState {
  readonly tables: readonly string[];
  readonly rows: ReadonlyMap<RowId, StoredRow>;
}

/**
 * What clients know of a server: what was acknowledged, and what was sent without getting a
 * response. Every row except the contended one has a single writer, which sends one request at a
 * time.
 */
export class Ledger {
  readonly #rows = new Map<RowId, StoredRow>();
  /**
   * Changes without a response, each with the highest timestamp that was acknowledged when it was
   * sent: its own must be higher.
   */
  readonly #unanswered = new Map<Changes, string>();
  readonly #tables = new Map<string, boolean>();
  /** Tables whose creation or removal got no response. */
  readonly #uncertainTables = new Set<string>();
  readonly #contended = new Map<RowId, ContendedRow>();
  #serial = 0;
  #highest = '';

  acknowledged = 0;

  nextSerial(): number {
    this.#serial += 1;
    return this.#serial;
  }

  get(id: RowId): StoredRow | undefined {
    return this.#rows.get(id);
  }

  /** The highest timestamp in any response so far. */
  get highest(): string {
    return this.#highest;
  }

  note(etag: string): void {
    const stamp = stampOf(etag);
    if (stamp > this.#highest) this.#highest = stamp;
  }

  issue(changes: Changes): void {
    this.#unanswered.set(changes, this.#highest);
  }

  /** `etagOf` returns the etag of the response for a row that was not deleted. */
  acknowledge(changes: Changes, etagOf: (id: RowId) => string): void {
    const before = this.#unanswered.get(changes) ?? '';
    this.#unanswered.delete(changes);
    this.acknowledged += 1;
    for (const [id, row] of changes) {
      const etag = row === undefined ? '' : etagOf(id);
      if (row !== undefined && stampOf(etag) <= before) {
        throw new Error(`${id} was answered ${etag}, not above ${before}`);
      }
      this.#adopt(id, row, etag);
    }
  }

  /** For a request that was refused, and so had no effect. */
  refuse(changes: Changes): void {
    this.#unanswered.delete(changes);
  }

  issueTable(name: string): void {
    this.#uncertainTables.add(name);
  }

  acknowledgeTable(name: string, exists: boolean): void {
    this.#uncertainTables.delete(name);
    this.#tables.set(name, exists);
    this.acknowledged += 1;
  }

  contended(id: RowId): ContendedRow {
    const row = this.#contended.get(id) ?? new ContendedRow();
    this.#contended.set(id, row);
    return row;
  }

  /**
   * Compares the content of a restarted server with what it acknowledged; returns the violations.
   * Afterwards the content counts as acknowledged.
   */
  settle(seen: SeenState): string[] {
    const broken = [...this.#settleTables(seen.tables)];
    const open = new Set<RowId>(this.#contended.keys());
    for (const [id, row] of this.#contended) broken.push(...row.settle(id, seen.rows.get(id)));
    for (const [changes, before] of this.#unanswered) {
      for (const id of changes.keys()) open.add(id);
      broken.push(...this.#settleChanges(changes, before, seen.rows));
    }
    this.#unanswered.clear();
    for (const id of new Set([...this.#rows.keys(), ...seen.rows.keys()])) {
      if (open.has(id) || isSame(this.#rows.get(id), seen.rows.get(id))) continue;
      broken.push(
        `${id} is ${shown(seen.rows.get(id))}, acknowledged ${shown(this.#rows.get(id))}`,
      );
    }
    for (const { etag } of seen.rows.values()) this.note(etag);
    return broken;
  }

  *#settleTables(seen: readonly string[]): Generator<string> {
    const present = new Set(seen);
    for (const name of new Set([...this.#tables.keys(), ...present])) {
      const exists = this.#tables.get(name) ?? false;
      if (exists !== present.has(name) && !this.#uncertainTables.has(name)) {
        yield `table ${name}: ${present.has(name)}, acknowledged ${exists}`;
      }
      this.#tables.set(name, present.has(name));
    }
    this.#uncertainTables.clear();
  }

  /** A request without a response was applied completely or not at all. */
  #settleChanges(changes: Changes, before: string, seen: ReadonlyMap<RowId, StoredRow>): string[] {
    const ids = [...changes.keys()];
    if (ids.every((id) => isSame(this.#rows.get(id), seen.get(id)))) return [];
    const broken: string[] = [];
    for (const [id, row] of changes) {
      const actual = seen.get(id);
      if (row?.serial !== actual?.row.serial || row?.pad !== actual?.row.pad) {
        broken.push(
          `${id} of a group of ${ids.length} is ${shown(actual)}, sent ${row?.serial}, ` +
            `acknowledged before ${shown(this.#rows.get(id))}`,
        );
      } else if (actual !== undefined && stampOf(actual.etag) <= before) {
        broken.push(`${id} has ${actual.etag}, not above ${before}`);
      }
      this.#adopt(id, actual?.row, actual?.etag ?? '');
    }
    return broken;
  }

  #adopt(id: RowId, row: Row | undefined, etag: string): void {
    if (row === undefined) {
      this.#rows.delete(id);
      return;
    }
    this.#rows.set(id, { etag, row });
    this.note(etag);
  }
}

/** A row that many connections write concurrently, without conditions. */
export class ContendedRow {
  readonly #acknowledged = new Map<number, string>();
  readonly #unanswered = new Set<number>();

  issue(serial: number): void {
    this.#unanswered.add(serial);
  }

  acknowledge(serial: number, etag: string): void {
    this.#unanswered.delete(serial);
    this.#acknowledged.set(serial, etag);
  }

  /** The row must have the last acknowledged write, or a later one without a response. */
  settle(id: RowId, seen: StoredRow | undefined): string[] {
    const last = [...this.#acknowledged.values()].map(stampOf).sort().at(-1) ?? '';
    const hadUnanswered = this.#unanswered.has(seen?.row.serial ?? 0);
    this.#unanswered.clear();
    if (seen === undefined) return last === '' ? [] : [`${id} is gone`];
    const acknowledged = this.#acknowledged.get(seen.row.serial);
    this.#acknowledged.clear();
    this.#acknowledged.set(seen.row.serial, seen.etag);
    const isLast = acknowledged === seen.etag && stampOf(seen.etag) === last;
    const isLater = hadUnanswered && stampOf(seen.etag) > last;
    return isLast || isLater ? [] : [`${id} is ${shown(seen)}, the last acknowledged is ${last}`];
  }
}

function isSame(left: StoredRow | undefined, right: StoredRow | undefined): boolean {
  return (
    left?.etag === right?.etag &&
    left?.row.serial === right?.row.serial &&
    left?.row.pad === right?.row.pad
  );
}

function shown(stored: StoredRow | undefined): string {
  return stored === undefined ? 'absent' : `${stored.row.serial} ${stored.etag}`;
}
