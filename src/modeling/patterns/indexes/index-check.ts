import { pageRowsMax } from '../../table/gateway.js';
import { requireCounts } from '../../definition/count.js';
import type { RowKey } from '../../rows/row.js';
import { confirmDrift, findDrift, type Candidate, type Drift } from './index-drift.js';
import type { IndexPlaces } from './index-places.js';
import type { IndexRepair } from './index-repair.js';
import {
  candidatesOf,
  pageReads,
  readScanCursor,
  readScanPage,
  sourcesOf,
  writeScanCursor,
  type ScanPage,
  type ScanSource,
} from './index-scan.js';
import { concurrently } from '../../../base/async/concurrently.js';
import type { ResolvedIndex } from './with-indexes.js';
import { compareTexts } from '../../rows/text-order.js';

/** How much is checked at a time, and where the check resumes. */
export interface CheckOptions {
  /** The cursor of the last page of an earlier run. */
  readonly cursor?: string;
  /** Maximum rows of a page, 1 to 1000. 200 when absent. */
  readonly pageRows?: number;
  /** Concurrent comparisons. 16 when absent. */
  readonly concurrency?: number;
}

/** Throws `ValueError` for options that are no counts. */
export function requirePace({ pageRows, concurrency }: CheckOptions): void {
  requireCounts({ pageRows }, { max: pageRowsMax });
  requireCounts({ concurrency });
}

/** The results of a page of a check. */
export interface CheckPage {
  /** Comparisons of an entity with an index entry, in either direction. */
  readonly checked: number;
  /** Differences in the order of the index keys; after a repair, those that remain. */
  readonly drifts: readonly Drift[];
  /** Differences that were repaired. */
  readonly repaired: number;
  /** Resumes after this page, also in another process. Absent: the check is complete. */
  readonly cursor?: string;
}

/** Compares indexes with their entities in both directions, page by page. */
export class IndexCheck {
  readonly #places: IndexPlaces;
  readonly #repair: IndexRepair;

  constructor(places: IndexPlaces, repair: IndexRepair) {
    this.#places = places;
    this.#repair = repair;
  }

  /** With `repairs`, differences are repaired. */
  async *pages(
    indexes: readonly ResolvedIndex[],
    repairs: boolean,
    options: CheckOptions,
  ): AsyncGenerator<CheckPage, void, undefined> {
    requirePace(options);
    const sources = sourcesOf(this.#places, indexes);
    let { source: at, cursor } = readScanCursor(options.cursor);
    for (;;) {
      const source = sources[at];
      if (source === undefined) return;
      const page = await readScanPage(this.#places, source, cursor, options.pageRows ?? 200);
      const found = await this.#check(source, page, indexes, repairs, options.concurrency ?? 16);
      cursor = page.cursor;
      if (cursor === undefined) at += 1;
      const isEnd = sources[at] === undefined;
      yield isEnd ? found : { ...found, cursor: writeScanCursor({ source: at, cursor }) };
    }
  }

  async #check(
    source: ScanSource,
    page: ScanPage,
    indexes: readonly ResolvedIndex[],
    repairs: boolean,
    concurrency: number,
  ): Promise<CheckPage> {
    const reads = pageReads(this.#places, source, page);
    const drifts = new Map<string, Drift>();
    const seen = new Set<string>();
    let checked = 0;
    let repaired = 0;
    const compare = async (found: Candidate | Drift): Promise<void> => {
      checked += 1;
      const candidate = 'kind' in found ? undefined : found;
      const drift = 'kind' in found ? found : await findDrift(this.#places, reads, found);
      if (drift === undefined || seen.has(nameOf(drift))) return;
      seen.add(nameOf(drift));
      const isMended = repairs && candidate !== undefined && (await this.#repair.repair(candidate));
      if (isMended) repaired += 1;
      const left = isMended ? undefined : await this.#confirmed(drift, candidate);
      if (left !== undefined) drifts.set(nameOf(left), left);
    };
    await concurrently(candidatesOf(this.#places, source, page, indexes), concurrency, compare);
    const inOrder = [...drifts].sort(([left], [right]) => compareTexts(left, right));
    return { checked, drifts: inOrder.map(([, drift]) => drift), repaired };
  }

  /** The drift, if another read confirms it. */
  #confirmed(drift: Drift, candidate: Candidate | undefined): Promise<Drift | undefined> {
    if (candidate === undefined) return Promise.resolve(drift);
    return confirmDrift(this.#places, candidate);
  }
}

function nameOf({ index, key, primary }: Drift): string {
  const text = ({ partitionKey, rowKey }: RowKey) => `${partitionKey}/${rowKey}`;
  return `${index} ${text(key)} ${text(primary)}`;
}
