import { codecOf } from '../../definition/codec.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { CreateOf, ReadOf } from '../../definition/shapes.js';
import { storedAs, storedAsOf } from '../../definition/stored-entity.js';
import type { Row, RowKey, RowProperties, StoredRow } from '../../rows/row.js';
import { putOver } from '../../table/conditional-write.js';
import type { RowWrite, TableGateway } from '../../table/gateway.js';
import { asMove } from '../../table/moving-table.js';
import { nameOfKey, storedText, textIn } from '../../rows/row-parts.js';
import {
  tombstoneType,
  markNames,
  markOf,
  markProperties,
  stampProperties,
  withoutMarks,
} from './move-mark.js';
import type { Side } from './phase.js';

/** The keys of an entity on both sides. */
export type MoveKeys = Readonly<Record<Side, RowKey>>;

/** The content of an entity, from either side. */
export interface Content {
  /** As a row of the new side, without marks; undefined when there is none. */
  readonly entityRow: Row | undefined;
  /** Changes with the content, and only then. */
  readonly tag: string;
  readonly stamps: string;
  /** Ticks; 0n when unknown. */
  readonly timestamp: bigint;
}

/** The state of a row of one side, which may not exist. */
export interface SideState {
  readonly side: Side;
  readonly epoch: number;
  /** Undefined: the row does not exist. */
  readonly etag: string | undefined;
  readonly isMarked: boolean;
  readonly content: Content;
}

/** Converts between the rows of a side and those of the new side. Does no I/O. */
export interface Translation {
  /** Throws `TooLargeError` for an entity that exceeds the limits of the new side. */
  toNewSide(row: StoredRow): Row;
  /** The same for reading, without a limit of size. */
  shown(row: StoredRow): Row;
  fromNewSide(entityRow: Row): Row;
}

export interface SideParts {
  readonly side: Side;
  readonly move: string;
  readonly definition: AnyDefinition;
  readonly table: TableGateway;
  readonly translation: Translation;
}

/** A write of a row over its earlier state. */
export interface SideWrite {
  readonly keys: MoveKeys;
  /** The state that was read, which must still hold. */
  readonly before: SideState;
  readonly content: Content;
  readonly epoch: number;
  /** The tag of the row that the content is copied from; absent for new content. */
  readonly copied?: { readonly tag: string };
}

/** The rows of one side. */
export class MoveSide {
  readonly side: Side;
  readonly table: TableGateway;
  readonly #parts: SideParts;
  readonly #typeName: string;

  constructor(parts: SideParts) {
    this.#parts = parts;
    this.side = parts.side;
    this.table = parts.table;
    this.#typeName = parts.definition.system.type ?? 'EntityType';
  }

  /** One point read. Throws as `stateOf`. */
  async read(keys: MoveKeys): Promise<SideState> {
    const row = await this.table.get(keys[this.side]);
    return row === undefined ? this.absent() : this.stateOf(row);
  }

  /** The same for a reader, which does not store the row, so its size does not matter. */
  async look(keys: MoveKeys): Promise<SideState> {
    const row = await this.table.get(keys[this.side]);
    return row === undefined ? this.absent() : this.shownState(row);
  }

  absent(): SideState {
    const content = { entityRow: undefined, tag: '', stamps: '', timestamp: 0n };
    return { side: this.side, epoch: 0, etag: undefined, isMarked: false, content };
  }

  /**
   * Throws `DecodeError` for a row that the definition cannot read, `TooLargeError` for an entity
   * that the new side does not take.
   */
  stateOf(row: StoredRow): SideState {
    return this.#stateOf(row, (own) => this.#parts.translation.toNewSide(own));
  }

  /** As `stateOf`, however large the entity is. */
  shownState(row: StoredRow): SideState {
    return this.#stateOf(row, (own) => this.#parts.translation.shown(own));
  }

  #stateOf(row: StoredRow, translated: (row: StoredRow) => Row): SideState {
    const { epoch, isMarked, tag = row.etag, stamps } = markOf(row, this.side, this.#parts.move);
    const { timestamp } = row;
    const entityRow = this.isTombstone(row)
      ? undefined
      : translated({ ...row, properties: withoutMarks(row.properties) });
    const content = { entityRow, tag, stamps, timestamp };
    return { side: this.side, epoch, etag: row.etag, isMarked, content };
  }

  /** Whether the row only marks an entity that was deleted. */
  isTombstone({ properties }: Row): boolean {
    return textIn(properties, this.#typeName) === tombstoneType;
  }

  /** Whether the row is an entity of the definition. */
  isLive(row: Row): boolean {
    return !this.isTombstone(row) && codecOf(this.#parts.definition).matches(row);
  }

  /** The keys of a row whose entity was deleted; undefined for rows of other moves. */
  keysOfTombstone(row: StoredRow): MoveKeys | undefined {
    const { other, isMarked } = markOf(row, this.side, this.#parts.move);
    if (!isMarked || other === undefined) return undefined;
    const { partitionKey, rowKey } = row;
    const own = { partitionKey, rowKey };
    return this.side === 'old' ? { old: own, new: other } : { old: other, new: own };
  }

  /** The row of an entity that a query of this side returned, marks included. */
  rowOf(entity: object): StoredRow {
    const { etag = '', timestamp = 0n } = storedAsOf(entity) ?? {};
    const row = codecOf(this.#parts.definition).shownRow(entity);
    return { ...row, etag, timestamp };
  }

  /** The keys of an entity on both sides. Only for the old side. */
  keysOfRow(entityRow: Row): MoveKeys {
    const { partitionKey, rowKey } = this.#parts.translation.fromNewSide(entityRow);
    return {
      old: { partitionKey, rowKey },
      new: { partitionKey: entityRow.partitionKey, rowKey: entityRow.rowKey },
    };
  }

  /** The row as a read from this side would return it. */
  normal(entityRow: Row): Row {
    return this.#parts.translation.toNewSide({
      ...this.#parts.translation.fromNewSide(entityRow),
      etag: '',
      timestamp: 0n,
    });
  }

  /**
   * One insert, replace or delete, which is a step of the move unless the content is new. Returns
   * the resulting state. Throws the gateway's errors when the row has changed since it was read.
   */
  async write(write: SideWrite): Promise<SideState> {
    const { before, content, epoch, copied } = write;
    const rowWrite = this.#rowWrite(write);
    if (rowWrite === undefined) return before;
    const { etag } = await this.table.write(copied === undefined ? rowWrite : asMove(rowWrite));
    if (rowWrite.kind === 'delete') return { ...this.absent(), content };
    const tag = copied?.tag ?? etag ?? '';
    return { side: this.side, epoch, etag, isMarked: true, content: { ...content, tag } };
  }

  #rowWrite({ keys, before, content, epoch, copied }: SideWrite): RowWrite | undefined {
    const key = keys[this.side];
    const { entityRow, stamps } = content;
    const isUnmarked = this.side === 'old' && epoch === 0;
    if (entityRow === undefined && isUnmarked) {
      return before.etag === undefined ? undefined : { kind: 'delete', key, etag: before.etag };
    }
    const mark: RowProperties = isUnmarked
      ? stampProperties(stamps)
      : markProperties(this.#parts.move, { epoch, tag: copied?.tag, stamps });
    const row =
      entityRow === undefined
        ? this.#tombstone(keys)
        : this.#parts.translation.fromNewSide(entityRow);
    const marked = { ...row, properties: { ...row.properties, ...mark } };
    return putOver(marked, before.etag);
  }

  #tombstone(keys: MoveKeys): Row {
    const other = keys[this.side === 'old' ? 'new' : 'old'];
    const properties = {
      [this.#typeName]: storedText(tombstoneType),
      [markNames.other]: storedText(nameOfKey(other)),
    };
    return { ...keys[this.side], properties };
  }
}

/** Converts between entities of the two definitions. */
export interface Conversion<O extends AnyDefinition, N extends AnyDefinition> {
  readonly forward: (old: ReadOf<O>) => CreateOf<N>;
  readonly backward: (entity: ReadOf<N>) => CreateOf<O>;
}

/**
 * Keeps stored properties that neither definition knows, so that they are not lost. A conversion
 * may spread a whole entity: names that only its own side declares are left out.
 */
export function oldTranslation<O extends AnyDefinition, N extends AnyDefinition>(
  from: O,
  to: N,
  { forward, backward }: Conversion<O, N>,
): Translation {
  const [olds, news] = [codecOf(from), codecOf(to)];
  const [oldNames, newNames] = [Object.keys(from.properties), Object.keys(to.properties)];
  const [onlyOld, onlyNew] = [without(oldNames, newNames), without(newNames, oldNames)];
  const converted = (row: StoredRow): CreateOf<N> => {
    const old = olds.fromRow(row);
    return { ...leftOut(forward(old), onlyOld), [storedAs]: old[storedAs] };
  };
  return {
    toNewSide: (row) => news.toRow(converted(row)),
    shown: (row) => news.shownRow(converted(row)),
    fromNewSide: (entityRow) => {
      const entity = news.fromRow({ ...entityRow, etag: '', timestamp: 0n });
      const older = leftOut(backward(entity), onlyNew);
      return olds.toRow({ ...older, [storedAs]: entity[storedAs] });
    },
  };
}

function without(names: readonly string[], others: readonly string[]): ReadonlySet<string> {
  return new Set(names.filter((name) => !others.includes(name)));
}

function leftOut<T extends object>(entity: T, names: ReadonlySet<string>): T {
  const kept = Object.entries(entity).filter(([name]) => !names.has(name));
  return Object.fromEntries(kept) as T;
}

/** Upgrades rows of older versions of the definition. */
export function newTranslation(to: AnyDefinition): Translation {
  const codec = codecOf(to);
  return {
    toNewSide: (row) => codec.toRow(codec.fromRow(row)),
    shown: (row) => codec.shownRow(codec.fromRow(row)),
    fromNewSide: (entityRow) => entityRow,
  };
}
