import { isAscii } from 'node:buffer';
import { inOnePiece, type Pieces } from '../../base/async/slice.js';
import type {
  BlockInfo,
  BlockList,
  BlockReference,
  BlockSource,
} from '../../model/blobs/block-list.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { invalidXmlDocument, unsupportedXmlNode } from '../../model/errors/query-errors.js';
import { decodeBlockId, encodeBlockId } from '../blobs/block-id.js';
import { expectRoot, elementsOf, textOf } from './content-model.js';
import { element, LongDocument } from './element.js';
import { parseXml } from './reader.js';

/** Most elements of a block list (blob-service §12.4). */
export const blocksMax = 50_000;

/**
 * The largest body that is read by the library. Lists in the form that clients send are read
 * faster, whatever their size.
 */
const unusualBytesMax = 256 * 1024;

/** The blocks that a body is read between two pauses. */
const blocksAtOnce = 64;

const sources = {
  Committed: 'committed',
  Uncommitted: 'uncommitted',
  Latest: 'latest',
} as const satisfies Record<string, BlockSource>;

/**
 * The elements of the body of Put Block List in their order, which is that of the blob
 * (blob-service §12.4).
 *
 * @throws {StorageError} `InvalidXmlDocument`, `UnsupportedXmlNode`, `BlockListTooLong`,
 * `InvalidBlockId`
 */
export function parseBlockList(body: Buffer): readonly BlockReference[] {
  return inOnePiece(blockListFromPieces(body));
}

/** As `parseBlockList`, some blocks at a time. */
export function* blockListFromPieces(body: Buffer): Pieces<readonly BlockReference[]> {
  return (yield* usualBlockList(body)) ?? unusualBlockList(body);
}

/** The text that clients usually send before the first block. */
const usualStart =
  /^(?:<\?xml version=["']1\.0["'](?: encoding=["']utf-8["'])?(?: standalone=["'](?:yes|no)["'])?\s*\?>)?\s*<BlockList>\s*/i;
const usualBlock = /<(Committed|Uncommitted|Latest)>([A-Za-z0-9+/=]*)<\/\1>\s*/y;
const usualEnd = /<\/BlockList>\s*$/y;

/** The list of a body without comments, references or attributes; undefined for any other. */
function* usualBlockList(body: Buffer): Pieces<readonly BlockReference[] | undefined> {
  if (!isAscii(body)) return undefined;
  const text = body.toString('latin1');
  const blocks: BlockReference[] = [];
  let at = usualStart.exec(text)?.[0].length ?? 0;
  if (at === 0) return undefined;
  for (;;) {
    usualBlock.lastIndex = at;
    const found = usualBlock.exec(text);
    if (found === null) break;
    const [whole, name = '', id = ''] = found;
    at += whole.length;
    addBlock(blocks, name, id);
    if (blocks.length % blocksAtOnce === 0) yield;
  }
  usualEnd.lastIndex = at;
  return usualEnd.test(text) ? blocks : undefined;
}

/** In place, because a list may be long. */
function addBlock(blocks: BlockReference[], name: string, text: string): void {
  if (blocks.length >= blocksMax) throw new StorageError('BlockListTooLong');
  const source = sourceOf(name);
  const id = decodeBlockId(text);
  if (id === undefined) throw new StorageError('InvalidBlockId');
  blocks.push({ source, id });
}

function sourceOf(name: string): BlockSource {
  if (Object.hasOwn(sources, name)) return sources[name as keyof typeof sources];
  throw unsupportedXmlNode(name);
}

function unusualBlockList(body: Buffer): readonly BlockReference[] {
  if (body.length > unusualBytesMax) {
    throw invalidXmlDocument(
      `A block list of more than ${unusualBytesMax} bytes holds blocks and white space alone.`,
    );
  }
  const root = parseXml(body, { elementsMax: blocksMax + 1 });
  expectRoot(root, 'BlockList');
  const blocks: BlockReference[] = [];
  for (const item of elementsOf(root)) addBlock(blocks, item.name, textOf(item).trim());
  return blocks;
}

/** The body of Get Block List (blob-service §12.5). */
export function renderBlockList(list: BlockList): Buffer {
  return inOnePiece(blockListInPieces(list));
}

/** The body of Get Block List, a block at a time. */
export function* blockListInPieces({ committed, uncommitted }: BlockList): Pieces<Buffer> {
  const document = new LongDocument();
  document.add('<BlockList>');
  if (committed !== undefined) yield* addSection(document, 'CommittedBlocks', committed);
  if (uncommitted !== undefined) yield* addSection(document, 'UncommittedBlocks', uncommitted);
  document.add('</BlockList>');
  return document.result();
}

function* addSection(
  document: LongDocument,
  name: string,
  blocks: readonly BlockInfo[],
): Pieces<void> {
  if (blocks.length === 0) document.add(element(name, ''));
  else {
    document.add(`<${name}>`);
    for (const { id, bytes } of blocks) {
      const children = element('Name', encodeBlockId(id)) + element('Size', String(bytes));
      document.add(element('Block', children));
      yield;
    }
    document.add(`</${name}>`);
  }
}
