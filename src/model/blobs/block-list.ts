import type { Bytes } from '../../base/bytes.js';

/** Where Put Block List looks for a block (blob-service §12.4). */
export type BlockSource = 'committed' | 'uncommitted' | 'latest';

/** One element of the body of Put Block List. */
export interface BlockReference {
  readonly source: BlockSource;
  /** The id as bytes, decoded from base64: 1 to 64. */
  readonly id: Bytes;
}

/** A block as Get Block List shows it. */
export interface BlockInfo {
  readonly id: Bytes;
  readonly bytes: number;
}

/** The blocks of a blob (blob-service §12.5). A part that was not asked for is absent. */
export interface BlockList {
  /** In the order of the blob. */
  readonly committed?: readonly BlockInfo[];
  /** In the order of their ids. */
  readonly uncommitted?: readonly BlockInfo[];
}
