import type { StoredRow } from '../../rows/row.js';
import { DecodeError, ValueError } from '../../table/errors.js';
import type { TableGateway } from '../../table/gateway.js';
import { anyOf, whereStored, type Filter } from '../../table/filter.js';
import { keyOfText } from '../index-entities/key-list.js';
import { headOfChunk, textsOfRow } from '../index-entities/row-list.js';
import type { Candidate, Drift, DriftReads } from './index-drift.js';
import { freshReads } from './index-drift.js';
import { primaryOf } from './index-entry.js';
import type { IndexPlaces } from './index-places.js';
import type { ResolvedIndex, ResolvedLists } from './with-indexes.js';
import { keyOf, nameOfKey } from '../../rows/row-parts.js';

/** A table, or a set of blobs, that is read from beginning to end. */
export type ScanSource =
  | {
      readonly kind: 'rows';
      readonly table: TableGateway;
      readonly hasEntities: boolean;
      /** The indexes whose rows are in the table. */
      readonly indexes: readonly ResolvedIndex[];
    }
  | { readonly kind: 'blobs'; readonly index: ResolvedLists };

/** The sources for both directions of a comparison: the entities, then the indexes elsewhere. */
export function sourcesOf(
  places: IndexPlaces,
  indexes: readonly ResolvedIndex[],
): readonly ScanSource[] {
  const tables = new Map<TableGateway, ResolvedIndex[]>([[places.table, []]]);
  const blobs: ScanSource[] = [];
  for (const index of indexes) {
    if (index.place === 'blob' && index.kind === 'list') blobs.push({ kind: 'blobs', index });
    else {
      const table = places.tableOf(index);
      tables.set(table, [...(tables.get(table) ?? []), index]);
    }
  }
  const rows = [...tables].map(([table, found]) => ({
    kind: 'rows' as const,
    table,
    hasEntities: table === places.table,
    indexes: found,
  }));
  return [...rows, ...blobs];
}

/** The entities alone. */
export function entitySource({ table }: IndexPlaces): ScanSource {
  return { kind: 'rows', table, hasEntities: true, indexes: [] };
}

/** Where a scan resumes. */
interface ScanPosition {
  readonly source: number;
  readonly cursor: string | undefined;
}

export function writeScanCursor({ source, cursor }: ScanPosition): string {
  return JSON.stringify(cursor === undefined ? [source] : [source, cursor]);
}

/** Throws `ValueError` for a text that is no cursor of a scan. */
export function readScanCursor(text: string | undefined): ScanPosition {
  if (text === undefined) return { source: 0, cursor: undefined };
  try {
    const [source, cursor] = JSON.parse(text) as readonly unknown[];
    const isCursor = cursor === undefined || typeof cursor === 'string';
    if (Number.isSafeInteger(source) && isCursor) return { source: Number(source), cursor };
  } catch {
    // Refused below, as any other text.
  }
  throw new ValueError(`'${text}' is no cursor of a check`);
}

/** One page of a source. */
export interface ScanPage {
  readonly rows: readonly StoredRow[];
  readonly blobs: readonly string[];
  readonly cursor: string | undefined;
}

/** One range read, or one listing of blobs. */
export async function readScanPage(
  places: IndexPlaces,
  source: ScanSource,
  cursor: string | undefined,
  limit: number,
): Promise<ScanPage> {
  if (source.kind === 'blobs') {
    const page = await places.blobsOf(source.index).names(cursor);
    return { rows: [], blobs: page.names, cursor: page.cursor };
  }
  const page = await source.table.page({
    where: hasTypes(places, source),
    limit,
    cursor,
  });
  return { rows: page.rows, blobs: [], cursor: page.cursor };
}

/**
 * Selects the rows of the needed types; every row when one of the types is not stored in its rows.
 */
function hasTypes(
  { entity }: IndexPlaces,
  { hasEntities, indexes }: Extract<ScanSource, { readonly kind: 'rows' }>,
): Filter | undefined {
  const definitions = [
    ...(hasEntities ? [entity] : []),
    ...indexes.map(({ definition }) => definition),
  ];
  const types = definitions.flatMap(({ type, system }) =>
    system.type === undefined
      ? []
      : [whereStored(system.type, 'eq', { type: 'String', value: type })],
  );
  return types.length < definitions.length ? undefined : anyOf(types);
}

/** The comparisons that the rows and blobs of a page give, one by one. */
export async function* candidatesOf(
  places: IndexPlaces,
  source: ScanSource,
  page: ScanPage,
  checked: readonly ResolvedIndex[],
): AsyncGenerator<Candidate | Drift> {
  for (const row of page.rows) {
    if (source.kind !== 'rows') continue;
    if (source.hasEntities && places.codec.matches(row)) {
      yield* readable(row, checked, () => candidatesOfEntity(places, row, checked));
      continue;
    }
    const index = source.indexes.find((each) => isOfIndex(each, row));
    if (index === undefined) continue;
    yield* readable(row, [index], () => candidatesOfIndexRow(index, row));
  }
  for (const name of page.blobs) {
    if (source.kind !== 'blobs') continue;
    const key = { partitionKey: '', rowKey: name };
    const list = await freshReads(places).blob(source.index, name);
    for (const text of list) yield { index: source.index, primary: keyOfText(text), key };
  }
}

/** Rows of a list have the key of its head, or a key of a chunk. */
function isOfIndex({ kind, codec }: ResolvedIndex, row: StoredRow): boolean {
  if (codec.matches(row)) return true;
  const head = kind === 'list' ? headOfChunk(row) : undefined;
  return head !== undefined && codec.matches({ ...row, ...head });
}

function candidatesOfEntity(
  places: IndexPlaces,
  row: StoredRow,
  checked: readonly ResolvedIndex[],
): readonly Candidate[] {
  const entries = places.entries(row);
  return checked.flatMap((index) => {
    const found = entries.get(index) ?? [];
    return found.map(({ key }) => ({ index, primary: keyOf(row), key }));
  });
}

function candidatesOfIndexRow(index: ResolvedIndex, row: StoredRow): readonly Candidate[] {
  const key = keyOf(row);
  if (index.kind === 'copy') {
    const primary = primaryOf(index, row);
    return primary === undefined ? [] : [{ index, primary, key }];
  }
  const head = headOfChunk(key) ?? key;
  return textsOfRow(row, index.layout).map((text) => ({
    index,
    primary:
      index.place === 'same-partition'
        ? { partitionKey: key.partitionKey, rowKey: text }
        : keyOfText(text),
    key: head,
  }));
}

/** A row that cannot be read is one drift for each index concerned. */
function readable(
  row: StoredRow,
  indexes: readonly ResolvedIndex[],
  read: () => readonly Candidate[],
): readonly (Candidate | Drift)[] {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const place = { primary: keyOf(row), key: keyOf(row), reason: error.message };
    return indexes.map(({ name }) => ({ kind: 'unreadable', index: name, ...place }));
  }
}

/** Rows cached for a page, so that no row is read twice for it. */
const rowsKeptMax = 4000;

/** The reads for one page: each row and blob is read once, those of the page itself not at all. */
export function pageReads(places: IndexPlaces, source: ScanSource, { rows }: ScanPage): DriftReads {
  const fresh = freshReads(places);
  const tables = new Map<TableGateway, Map<string, Promise<StoredRow | undefined>>>();
  const keptOf = (table: TableGateway) => {
    const kept = tables.get(table);
    // The cache stays bounded, however long the lists of a page are.
    if (kept !== undefined && kept.size < rowsKeptMax) return kept;
    const fresh = new Map<string, Promise<StoredRow | undefined>>();
    tables.set(table, fresh);
    return fresh;
  };
  if (source.kind === 'rows') {
    for (const row of rows) keptOf(source.table).set(nameOfKey(row), Promise.resolve(row));
  }
  let blob: { readonly name: string; readonly texts: Promise<ReadonlySet<string>> } | undefined;
  return {
    row(table, key) {
      const kept = keptOf(table);
      const found = kept.get(nameOfKey(key)) ?? fresh.row(table, key);
      kept.set(nameOfKey(key), found);
      return found;
    },
    blob(index, name) {
      // Lists can be long: only the last one is kept.
      const full = `${index.name}/${name}`;
      if (blob?.name !== full) blob = { name: full, texts: fresh.blob(index, name) };
      return blob.texts;
    },
  };
}
