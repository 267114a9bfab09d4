import { nameOfKey, sameKey } from '../../rows/row-parts.js';
import type { Row, RowKey, StoredRow } from '../../rows/row.js';
import { TransactionFailedError } from '../../table/errors.js';
import { keyOfWrite, type RowWrite } from '../../table/gateway.js';
import type {
  Derivation,
  DerivationPlan,
  DerivedWrite,
  RowChange,
} from '../derived-data/derivation.js';
import { failureAt } from '../derived-data/planned-writes.js';
import { recomputed } from '../derived-data/recomputed.js';
import { rowAfter } from '../derived-data/row-after.js';
import type { OutboxMessage } from '../transactional-outbox/outbox.js';
import {
  entryChanges,
  isWanted,
  nameOfCopy,
  planCopies,
  planLists,
  type CopyFindings,
  type EntryChange,
  type IndexWrite,
} from './beside-plan.js';
import { primaryOf } from './index-entry.js';
import { IndexValueTakenError } from './index-errors.js';
import { intentOf, type IntentOptions } from './index-outbox.js';
import type { IndexPlaces } from './index-places.js';

/** A change of an entity, and those of its index entries. */
interface Changed {
  readonly item: number;
  readonly primary: RowKey;
  readonly entries: readonly EntryChange[];
}

/** An index row, and the entity that needs it. */
interface Upkeep extends IndexWrite {
  readonly item: number;
  readonly primary: RowKey;
}

/**
 * The indexes of a definition, for the table of its entities. Reads each copy in the entity's
 * partition that changes or is deleted, so that it never overwrites the copy of another entity, and
 * each list there whose value changes, with one more read for a long one.
 */
export class IndexDerivation implements Derivation {
  readonly #places: IndexPlaces;
  readonly #intents: IntentOptions;

  constructor(places: IndexPlaces, intents: IntentOptions) {
    this.#places = places;
    this.#intents = intents;
  }

  concerns(key: RowKey): boolean {
    return this.#places.codec.matches({ ...key, properties: {} });
  }

  isSource(row: Row): boolean {
    return this.#places.codec.matches(row);
  }

  /** A write that does not know the definition gets its computed properties, as its index does. */
  guarded(write: RowWrite, current: StoredRow | undefined): RowWrite {
    const { codec } = this.#places;
    const after = rowAfter(current, write);
    if (write.kind === 'delete' || after === undefined || !codec.matches(after)) return write;
    const stale = codec.staleComputed(after);
    return stale === undefined ? write : recomputed(write, after, stale, this.#places.table);
  }

  plan(): DerivationPlan {
    const findings = new Map<string, CopyFindings>();
    return {
      writes: (changes) => this.#writes(this.#entriesOf(changes), findings),
      messages: (changes) => this.#messages(this.#entriesOf(changes)),
    };
  }

  #entriesOf(changes: readonly RowChange[]): readonly Changed[] {
    return changes.map(({ item, key, before, after }) => {
      try {
        const entries = entryChanges(this.#places, before, after);
        this.#places.refusePlain(entries.map((entry) => entry.after));
        return { item, primary: key, entries };
      } catch (error) {
        throw failureAt(item, error);
      }
    });
  }

  async #messages(changes: readonly Changed[]): Promise<readonly OutboxMessage[]> {
    const intents: OutboxMessage[] = [];
    for (const { item, primary, entries } of changes) {
      try {
        const intent = await intentOf(this.#intents, primary, entries);
        if (intent !== undefined) intents.push(intent);
      } catch (error) {
        throw failureAt(item, error);
      }
    }
    return intents;
  }

  async #writes(
    changes: readonly Changed[],
    findings: Map<string, CopyFindings>,
  ): Promise<readonly DerivedWrite[]> {
    const copies = changes.map(async ({ item, primary, entries }) => {
      const known = findings.get(nameOfKey(primary)) ?? { unowned: new Map() };
      findings.set(nameOfKey(primary), known);
      const plans = entries.map(async ({ index, before, after }) =>
        index.kind === 'copy' && index.place === 'same-partition'
          ? planCopies(this.#places, primary, { index, before, after }, known)
          : [],
      );
      return (await Promise.all(plans)).flat().map((each) => upkeepOf(each, { item, primary }));
    });
    const lists = this.#places.beside.map(async (index): Promise<readonly Upkeep[]> => {
      if (index.kind !== 'list') return [];
      const [first] = changes;
      const concerned = changes.flatMap(({ entries }) =>
        entries.filter((change) => change.index === index),
      );
      if (first === undefined || concerned.length === 0) return [];
      const { item, primary } = first;
      const plan = await planLists(this.#places, index, concerned);
      return plan.map((each) => upkeepOf(each, { item, primary }));
    });
    const [planned, listed] = await Promise.all([Promise.all(copies), Promise.all(lists)]);
    return [...eachRowOnce(planned.flat()), ...listed.flat()].map((upkeep) => ({
      item: upkeep.item,
      write: upkeep.write,
      onConflict: () => this.#look(upkeep, findings.get(nameOfKey(upkeep.primary))),
    }));
  }

  /**
   * Finds out why an index row could not be written. Throws `IndexValueTakenError` when another
   * entity has the value; a row that no entity needs any more may be replaced.
   */
  async #look({ index, entry, write, primary }: Upkeep, findings?: CopyFindings): Promise<void> {
    if (write.kind === 'replace') findings?.unowned.delete(nameOfCopy(index, keyOfWrite(write)));
    if (write.kind !== 'insert' || entry === undefined) return;
    const taken = await this.#places.table.get(entry.key);
    if (taken === undefined) return;
    const owner = primaryOf(entry.index, taken);
    const isOwn = owner !== undefined && sameKey(owner, primary);
    if (!isOwn && (await isWanted(this.#places, entry.index, owner, entry.key))) {
      throw new IndexValueTakenError(index.name, entry.key);
    }
    findings?.unowned.set(nameOfCopy(index, entry.key), taken.etag);
  }
}

function upkeepOf(write: IndexWrite, need: Pick<Upkeep, 'item' | 'primary'>): Upkeep {
  return { ...write, ...need };
}

/**
 * A transaction writes a row once. When one entity releases a value and another one takes it, the
 * copy is replaced. Throws `TransactionFailedError` when two entities take a value.
 */
function eachRowOnce(upkeep: readonly Upkeep[]): readonly Upkeep[] {
  const byKey = new Map<string, Upkeep>();
  for (const each of upkeep) {
    const name = nameOfKey(keyOfWrite(each.write));
    const known = byKey.get(name);
    byKey.set(name, known === undefined ? each : joined(known, each));
  }
  return [...byKey.values()];
}

function joined(left: Upkeep, right: Upkeep): Upkeep {
  const [given, taken] = left.write.kind === 'delete' ? [left, right] : [right, left];
  if (given.write.kind === 'delete' && taken.write.kind !== 'delete') {
    const { etag } = given.write;
    return { ...taken, write: { kind: 'replace', row: taken.write.row, etag } };
  }
  const { partitionKey, rowKey } = keyOfWrite(right.write);
  const reason = new IndexValueTakenError(right.index.name, { partitionKey, rowKey });
  throw new TransactionFailedError(reason.message, right.item, reason);
}
