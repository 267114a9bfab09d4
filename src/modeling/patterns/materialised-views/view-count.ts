import { codecOf } from '../../definition/codec.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import { prefixOf, rangeOfPrefix } from '../../definition/key-template.js';
import { etagOf, rowKeyOf } from '../../definition/stored-entity.js';
import { ValueError } from '../../rows/model-error.js';
import { nameOfKey } from '../../rows/row-parts.js';
import type { RowKey } from '../../rows/row.js';
import { partitionRows } from '../../table/partition-rows.js';
import { isSame, measure, pick, plus, type Numbers } from './measures.js';
import { countedBy, type PlacedViewOptions } from './view-options.js';

/** The summary before its entities were counted, and the sums so far. */
export interface Count {
  readonly key: RowKey;
  /** Undefined when there was no summary. */
  readonly etag: string | undefined;
  readonly stored: Numbers;
  readonly actual: Numbers;
}

/** The progress of a count. */
export interface CountProgress {
  /** By the names of their keys. */
  readonly counts: ReadonlyMap<string, Count>;
  /** The cursor of the next page of entities; undefined at the end. */
  readonly next: string | undefined;
}

/** The entities of a count. */
export interface CountScope {
  /** One partition; all when absent, wherever their summaries are. */
  readonly partitionKey?: string | undefined;
  /** Maximum rows of a page, 1 to 1000; 1000 when absent. */
  readonly pageRows?: number | undefined;
}

/**
 * Counts the entities of summaries, a range read a page. Reads the summaries first: a later change
 * of an entity also changes the ETag of its summary, so a correction under the older ETag is
 * refused.
 */
export async function* countPages<S extends AnyDefinition, V extends AnyDefinition>(
  options: PlacedViewOptions<S, V>,
  { partitionKey, pageRows }: CountScope,
  from?: CountProgress,
): AsyncGenerator<CountProgress & { readonly checked: number }, void, undefined> {
  const { source, view, table, keyOf, measures } = options;
  const { where, counts: isCounted } = countedBy(options);
  const codec = codecOf(source);
  const rowKey = rangeOfPrefix(prefixOf(source.rowKey, {}));
  const counts = new Map(from?.counts ?? (await summariesOf(options, partitionKey)));
  let next = from?.next;
  do {
    const page = await table.page({ partitionKey, rowKey, where, limit: pageRows, cursor: next });
    const own = page.rows.filter((row) => codec.matches(row));
    for (const row of own) {
      const entity = codec.fromRow(row);
      const summary = isCounted(entity) ? keyOf(entity) : undefined;
      if (summary === undefined) continue;
      const key = codecOf(view).key(summary);
      const before = counts.get(nameOfKey(key)) ?? {
        key,
        etag: undefined,
        stored: {},
        actual: {},
      };
      const actual = plus(before.actual, measure(measures, entity));
      counts.set(nameOfKey(key), { ...before, actual });
    }
    next = page.cursor;
    yield { counts, next, checked: own.length };
  } while (next !== undefined);
}

async function summariesOf<S extends AnyDefinition, V extends AnyDefinition>(
  { view, table, viewTable = table, measures }: PlacedViewOptions<S, V>,
  partitionKey: string | undefined,
): Promise<ReadonlyMap<string, Count>> {
  const found = new Map<string, Count>();
  for await (const entity of partitionRows(view, viewTable, partitionKey)) {
    const { partitionKey: partition, rowKey } = rowKeyOf(entity);
    const key = { partitionKey: partition, rowKey };
    const stored = pick(entity, measures);
    const actual = plus(stored, stored, -1);
    found.set(nameOfKey(key), { key, etag: etagOf(entity), stored, actual });
  }
  return found;
}

/** The summaries that differ from the sums of their entities. */
export function differing({ counts }: CountProgress): readonly Count[] {
  return [...counts.values()].filter(({ stored, actual }) => !isSame(stored, actual));
}

/** As text, which holds all sums so far. */
export function writeCount({ counts, next }: CountProgress): string {
  const sums = [...counts.values()].map(({ key, etag, stored, actual }) => [
    key.partitionKey,
    key.rowKey,
    etag ?? null,
    textsOf(stored),
    textsOf(actual),
  ]);
  return JSON.stringify([next ?? null, sums]);
}

/** Throws `ValueError` for a text that is no progress of a count. */
export function readCount(text: string): CountProgress {
  try {
    const [next, sums] = JSON.parse(text) as [
      string,
      [string, string, string | null, Texts, Texts][],
    ];
    const counts = sums.map(([partitionKey, rowKey, etag, stored, actual]) => {
      const key = { partitionKey, rowKey };
      return [
        nameOfKey(key),
        { key, etag: etag ?? undefined, stored: numbersOf(stored), actual: numbersOf(actual) },
      ] as const;
    });
    if (typeof next === 'string') return { next, counts: new Map(counts) };
  } catch {
    // Refused below, as any other text.
  }
  throw new ValueError(`'${text}' is no cursor of a check of counts`);
}

/** 64-bit integers begin with `i`, other numbers with `n`, because JSON has neither all of them. */
type Texts = Readonly<Record<string, string>>;

function textsOf(numbers: Numbers): Texts {
  const entries = Object.entries(numbers).map(([name, value]) => [
    name,
    `${typeof value === 'bigint' ? 'i' : 'n'}${value}`,
  ]);
  return Object.fromEntries(entries) as Texts;
}

function numbersOf(texts: Texts): Numbers {
  const entries = Object.entries(texts).map(([name, text]) => [
    name,
    text.startsWith('i') ? BigInt(text.slice(1)) : Number(text.slice(1)),
  ]);
  return Object.fromEntries(entries) as Numbers;
}
