import { ValueError } from '../../rows/model-error.js';
import { listOfPacked, packedList } from '../../rows/packed-list.js';

/** Where a query over buckets resumes. */
export interface BucketCursor {
  /** The bucket's name. */
  readonly bucket: string;
  /** The cursor within the bucket; absent: at its beginning. */
  readonly inside?: string;
}

/** Opaque text. */
export function formatCursor({ bucket, inside }: BucketCursor): string {
  return packedList([bucket, inside]);
}

/** Throws `ValueError` for a text that is no cursor of such a query. */
export function parseCursor(text: string): BucketCursor {
  const [bucket, inside] = listOfPacked(text);
  if (typeof bucket === 'string' && typeof inside === 'string') return { bucket, inside };
  if (typeof bucket === 'string' && (inside === null || inside === undefined)) return { bucket };
  throw new ValueError(`'${text.slice(0, 40)}' is no cursor of a query over buckets`);
}
