import type { Pieces } from '../../base/async/slice.js';
import type { BlockInfo } from '../../model/blobs/block-list.js';
import { decodeBlockId } from '../blobs/block-id.js';

// Answers of another blob service about the blocks and pages of a blob, in the form in which
// services write them.

const block =
  /<Block>\s*<Name>([A-Za-z0-9+/=]*)<\/Name>\s*<Size>(\d{1,15})<\/Size>\s*<\/Block>\s*/y;
const committedStart = /<CommittedBlocks>\s*/g;
const committedEnd = /<\/CommittedBlocks>/y;
const noneCommitted = /<CommittedBlocks\s*\/>/;

/** The committed blocks of an answer to Get Block List; undefined when it cannot be read. */
export function* committedBlocksIn(body: Buffer): Pieces<readonly BlockInfo[] | undefined> {
  const text = body.toString('latin1');
  if (noneCommitted.test(text)) return [];
  committedStart.lastIndex = 0;
  if (!committedStart.test(text)) return undefined;
  const blocks: BlockInfo[] = [];
  let at = committedStart.lastIndex;
  for (;;) {
    block.lastIndex = at;
    const [whole, name = '', size = ''] = block.exec(text) ?? [];
    if (whole === undefined) break;
    const id = decodeBlockId(name);
    if (id === undefined) return undefined;
    blocks.push({ id, bytes: Number(size) });
    at += whole.length;
    yield;
  }
  committedEnd.lastIndex = at;
  return committedEnd.test(text) ? blocks : undefined;
}

/** Bytes that are written, from the first to before the end. */
export interface WrittenPages {
  readonly start: number;
  readonly end: number;
}

export interface PageAnswer {
  readonly pages: readonly WrittenPages[];
  /** Where the list continues. */
  readonly nextMarker: string | undefined;
}

const pages =
  /<PageRange>\s*<Start>(\d{1,15})<\/Start>\s*<End>(\d{1,15})<\/End>\s*<\/PageRange>\s*/y;
const pagesStart = /<PageList>\s*/g;
const pagesEnd = /(?:<NextMarker>([^<&]*)<\/NextMarker>\s*|<NextMarker\s*\/>\s*)?<\/PageList>/y;
const noPages = /<PageList\s*\/>/;

/** An answer to Get Page Ranges; undefined when it cannot be read. */
export function* pagesIn(body: Buffer): Pieces<PageAnswer | undefined> {
  const text = body.toString('latin1');
  if (noPages.test(text)) return { pages: [], nextMarker: undefined };
  pagesStart.lastIndex = 0;
  if (!pagesStart.test(text)) return undefined;
  const found: WrittenPages[] = [];
  let at = pagesStart.lastIndex;
  for (;;) {
    pages.lastIndex = at;
    const [whole, start, last] = pages.exec(text) ?? [];
    if (whole === undefined) break;
    found.push({ start: Number(start), end: Number(last) + 1 });
    at += whole.length;
    yield;
  }
  pagesEnd.lastIndex = at;
  const end = pagesEnd.exec(text);
  if (end === null) return undefined;
  return { pages: found, nextMarker: end[1] === '' ? undefined : end[1] };
}
