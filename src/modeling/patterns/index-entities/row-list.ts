import { DecodeError, ModelError } from '../../rows/model-error.js';
import type { Row, RowKey, RowProperties, StoredRow } from '../../rows/row.js';
import { changedEntityError } from '../../table/refusals.js';
import type { RowWrite, TableGateway } from '../../table/gateway.js';
import { allRows } from '../../table/all-rows.js';
import {
  changeList,
  decodeList,
  encodeList,
  listPropertiesMax,
  listUnits,
  type KeyList,
  type ListChange,
} from './key-list.js';
import { compareTexts } from '../../rows/text-order.js';

/**
 * A list in rows of one partition. A short list is in one row, the head. A list longer than
 * `unitsMax` is split into chunks, rows that sort after the head: each holds a range of the texts,
 * and the head says where the ranges begin.
 *
 *   Jones            Chunks     ["1/","2/empid_000500"]
 *   Jones￮￮000001    EmployeeIDs ["empid_000007", … ]
 *   Jones￮￮000002    EmployeeIDs ["empid_000500", … ]
 *
 * Every change of a list writes its head under the ETag with which the change was planned, so
 * changes of one list are serial. Texts only move to chunks with higher numbers: reading the head
 * and then the chunks in order of their numbers finds every text that is in the list throughout.
 */
export interface ListLayout {
  /** Stored name of the property with the texts. */
  readonly name: string;
  /** Further properties of every row of the list: the type. */
  readonly system: RowProperties;
  /** UTF-16 code units of the list per row. */
  readonly unitsMax: number;
}

/**
 * Sorts after every text that a key template writes, which never has two of these in succession.
 */
const chunkMark = '\uffee\uffee';
const chunkDigits = 6;
const chunkNumberMax = 10 ** chunkDigits - 1;
const chunksName = 'Chunks';
/** The length that the mark and the number add to the RowKey of the head. */
export const chunkKeyUnits = chunkMark.length + chunkDigits;

function chunkKey({ partitionKey, rowKey }: RowKey, number: number): RowKey {
  const digits = number.toString().padStart(chunkDigits, '0');
  return { partitionKey, rowKey: `${rowKey}${chunkMark}${digits}` };
}

/** The key of the head when a RowKey is that of a chunk. */
export function headOfChunk({ partitionKey, rowKey }: RowKey): RowKey | undefined {
  const at = rowKey.lastIndexOf(chunkMark);
  return at < 0 ? undefined : { partitionKey, rowKey: rowKey.slice(0, at) };
}

/** A range of a long list: from this text up to the start of the next chunk. */
interface Chunk {
  readonly number: number;
  readonly from: string;
}

function readChunks(head: StoredRow): readonly Chunk[] | undefined {
  if (head.properties[chunksName] === undefined) return undefined;
  return decodeList(chunksName, head.properties).map((text) => {
    const slash = text.indexOf('/');
    return { number: Number(text.slice(0, slash)), from: text.slice(slash + 1) };
  });
}

/**
 * Reads the list at a key; empty when there is none. One point read; for a list in chunks also one
 * range read for each page of them.
 */
export async function readRowList(
  table: TableGateway,
  key: RowKey,
  { name }: ListLayout,
): Promise<KeyList> {
  const head = await table.get(key);
  if (head === undefined) return [];
  if (readChunks(head) === undefined) return decodeList(name, head.properties);
  const texts = new Set<string>();
  const first = `${key.rowKey}${chunkMark}`;
  const range = { from: first, before: `${first}:` };
  const chunks = allRows(table, { partitionKey: key.partitionKey, rowKey: range });
  for await (const { properties } of chunks) {
    for (const text of decodeList(name, properties)) texts.add(text);
  }
  return [...texts].sort(compareTexts);
}

/** Whether a text is in the list at a key. One read, two for a list in chunks. */
export async function isInRowList(
  read: (key: RowKey) => Promise<StoredRow | undefined>,
  key: RowKey,
  { name }: ListLayout,
  text: string,
): Promise<boolean> {
  const head = await read(key);
  if (head === undefined) return false;
  const chunk = chunkOf(readChunks(head), text);
  const row = chunk === undefined ? head : await read(chunkKey(key, chunk.number));
  return row !== undefined && textSetOf(row, name).has(text);
}

const textSets = new WeakMap<StoredRow, ReadonlySet<string>>();

/** Cached for checks, which look up each text of a list. */
function textSetOf(row: StoredRow, name: string): ReadonlySet<string> {
  const known = textSets.get(row);
  if (known !== undefined) return known;
  const texts = new Set(decodeList(name, row.properties));
  textSets.set(row, texts);
  return texts;
}

/** The texts in one row of a list: a head without chunks, or a chunk. */
export function textsOfRow(row: StoredRow, { name }: ListLayout): KeyList {
  return decodeList(name, row.properties);
}

/**
 * Plans a change of a list as writes for one transaction of its partition; empty when the list has
 * the change already. One point read, and one for each chunk concerned. The writes fail with 409 or
 * 412 when the list has changed since.
 */
export async function planRowListChange(
  table: TableGateway,
  key: RowKey,
  layout: ListLayout,
  change: ListChange,
): Promise<readonly RowWrite[]> {
  const head = await table.get(key);
  const chunks = head === undefined ? undefined : readChunks(head);
  if (head === undefined || chunks === undefined) {
    const list = head === undefined ? [] : decodeList(layout.name, head.properties);
    return planShort(key, layout, head, { list, next: changeList(list, change) });
  }
  return planLong(table, head, layout, chunks, change);
}

interface Lists {
  readonly list: KeyList;
  readonly next: KeyList;
}

function planShort(
  key: RowKey,
  layout: ListLayout,
  head: StoredRow | undefined,
  { list, next }: Lists,
): readonly RowWrite[] {
  if (next === list) return [];
  if (next.length === 0) return head === undefined ? [] : [deletionOf(head)];
  if (listUnits(next) <= layout.unitsMax) {
    return [written(rowOf(key, layout, layout.name, next), head)];
  }
  const pieces = cut(next, layout.unitsMax);
  const chunks = pieces.map(([from], index) => ({
    number: index + 1,
    from: index === 0 ? '' : (from ?? ''),
  }));
  return [
    written(directoryOf(key, layout, chunks), head),
    ...pieces.map((piece, index) => insertionOf(key, layout, index + 1, piece)),
  ];
}

async function planLong(
  table: TableGateway,
  head: StoredRow,
  layout: ListLayout,
  chunks: readonly Chunk[],
  change: ListChange,
): Promise<readonly RowWrite[]> {
  const concerned = byChunk(chunks, change);
  const rows = await Promise.all(
    [...concerned.keys()].map(({ number }) => table.get(chunkKey(head, number))),
  );
  if (rows.includes(undefined)) await refuseStaleHead(table, head);
  const after = new Map<Chunk, readonly Chunk[]>();
  const writes: RowWrite[] = [];
  let free = 1 + Math.max(...chunks.map(({ number }) => number));
  [...concerned].forEach(([chunk, part], index) => {
    const row = rows[index];
    const list = row === undefined ? [] : decodeList(layout.name, row.properties);
    const next = changeList(list, part);
    if (next === list) return;
    const [first = [], ...rest] = next.length === 0 ? [] : cut(next, layout.unitsMax);
    if (first.length === 0) {
      after.set(chunk, []);
      if (row !== undefined) writes.push(deletionOf(row));
      return;
    }
    const key = chunkKey(head, chunk.number);
    writes.push(written(rowOf(key, layout, layout.name, first), row));
    const added = rest.map((piece) => {
      writes.push(insertionOf(head, layout, free, piece));
      return { number: free++, from: piece[0] ?? '' };
    });
    after.set(chunk, [chunk, ...added]);
  });
  if (writes.length === 0) return [];
  return [headWrite(head, layout, chunks, after), ...writes];
}

/** The write of the head that belongs to every change of its chunks. */
function headWrite(
  head: StoredRow,
  layout: ListLayout,
  chunks: readonly Chunk[],
  after: ReadonlyMap<Chunk, readonly Chunk[]>,
): RowWrite {
  const next = chunks.flatMap((chunk) => after.get(chunk) ?? [chunk]);
  if (next.length === 0) return deletionOf(head);
  const isSame = next.length === chunks.length && next.every((each, at) => each === chunks[at]);
  // Writes only a new ETag: concurrent changes planned with the old one start over.
  if (isSame) return { kind: 'merge', row: { ...keyOnly(head), properties: {} }, etag: head.etag };
  const [first, ...rest] = next;
  const covering = first === undefined ? [] : [{ ...first, from: '' }, ...rest];
  return written(directoryOf(head, layout, covering), head);
}

function chunkOf(chunks: readonly Chunk[] | undefined, text: string): Chunk | undefined {
  return chunks?.findLast(({ from }) => compareTexts(from, text) <= 0);
}

/** The parts of a change by chunk. */
function byChunk(
  chunks: readonly Chunk[],
  { add, remove }: ListChange,
): ReadonlyMap<Chunk, { readonly add: string[]; readonly remove: string[] }> {
  const parts = new Map<Chunk, { readonly add: string[]; readonly remove: string[] }>();
  const partOf = (text: string) => {
    const chunk = chunkOf(chunks, text);
    if (chunk === undefined) throw new DecodeError('an index entity has no first chunk');
    const part = parts.get(chunk) ?? { add: [], remove: [] };
    parts.set(chunk, part);
    return part;
  };
  for (const text of add) partOf(text).add.push(text);
  for (const text of remove) partOf(text).remove.push(text);
  return parts;
}

/** Pieces that each fit into a row; several pieces are about half full. */
function cut(list: KeyList, unitsMax: number): readonly KeyList[] {
  if (listUnits(list) <= unitsMax) return [list];
  const pieces: string[][] = [];
  let units = Number.POSITIVE_INFINITY;
  for (const text of list) {
    const more = JSON.stringify(text).length + 1;
    if (units + more > unitsMax / 2) {
      pieces.push([]);
      units = 2;
    }
    pieces.at(-1)?.push(text);
    units += more;
  }
  return pieces;
}

function keyOnly({ partitionKey, rowKey }: RowKey): RowKey {
  return { partitionKey, rowKey };
}

function rowOf(key: RowKey, { system }: ListLayout, name: string, list: KeyList): Row {
  const properties = { ...system, ...encodeList(name, list) };
  if (Object.keys(properties).length - Object.keys(system).length > listPropertiesMax) {
    throw new ModelError(
      `the index entity '${key.rowKey}' would list more than a row can tell; ` +
        'an index table or a blob has room for so many',
    );
  }
  return { ...keyOnly(key), properties };
}

function directoryOf(key: RowKey, layout: ListLayout, chunks: readonly Chunk[]): Row {
  const last = Math.max(...chunks.map(({ number }) => number));
  if (last > chunkNumberMax) {
    throw new ModelError(`the index entity '${key.rowKey}' has had ${chunkNumberMax} chunks`);
  }
  const texts = chunks.map(({ number, from }) => `${number}/${from}`);
  return rowOf(key, layout, chunksName, texts);
}

function insertionOf(head: RowKey, layout: ListLayout, number: number, list: KeyList): RowWrite {
  return { kind: 'insert', row: rowOf(chunkKey(head, number), layout, layout.name, list) };
}

function written(row: Row, before: StoredRow | undefined): RowWrite {
  if (before === undefined) return { kind: 'insert', row };
  return { kind: 'replace', row, etag: before.etag };
}

function deletionOf(row: StoredRow): RowWrite {
  return { kind: 'delete', key: keyOnly(row), etag: row.etag };
}

/** Handles a missing chunk: the head has changed since, or the list is damaged. */
async function refuseStaleHead(table: TableGateway, head: StoredRow): Promise<void> {
  const again = await table.get(head, []);
  if (again?.etag === head.etag) return;
  throw changedEntityError('the index entity', head);
}
