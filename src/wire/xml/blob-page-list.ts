import { inOnePiece, type Pieces } from '../../base/async/slice.js';
import type { List } from '../../base/lazy-list.js';
import { element, LongDocument, textElement, xmlDocument } from './element.js';

/** Pages of a page blob, both ends included, in bytes. */
export interface ListedPages {
  readonly kind: 'written' | 'cleared';
  readonly first: number;
  readonly last: number;
}

/** One page of the ranges of a page blob, in ascending order. */
export interface RenderedPageList {
  readonly ranges: List<ListedPages>;
  /** Absent on the last page, where nothing is written. */
  readonly nextMarker?: string;
}

/** The body of Get Page Ranges (blob-service §14). */
export function renderPageList(list: RenderedPageList): Buffer {
  return inOnePiece(pageListInPieces(list));
}

/** The body of Get Page Ranges, a range at a time. */
export function* pageListInPieces({ ranges, nextMarker }: RenderedPageList): Pieces<Buffer> {
  if (ranges.length === 0 && nextMarker === undefined) return xmlDocument(element('PageList', ''));
  const document = new LongDocument();
  document.add('<PageList>');
  for (const { kind, first, last } of ranges) {
    const ends = element('Start', String(first)) + element('End', String(last));
    document.add(element(kind === 'written' ? 'PageRange' : 'ClearRange', ends));
    yield;
  }
  if (nextMarker !== undefined) document.add(textElement('NextMarker', nextMarker));
  document.add('</PageList>');
  return document.result();
}
