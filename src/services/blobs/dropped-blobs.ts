import type { DroppedContent } from '../containers/reclaim.js';
import { newId, type BlobContext } from './blob-context.js';
import { garbageGraceMicros } from './blob-readers.js';
import { encodeExtentGarbage } from './garbage.js';
import { extentGarbageKey } from './keys.js';
import { extentsOf } from './referenced-extents.js';

/**
 * Frees the extents of the blobs of dropped containers. An extent to which several entries refer is
 * freed with the first of them, because no record reaches any.
 */
export function droppedBlobs(
  context: Pick<BlobContext, 'store' | 'content' | 'randomness'>,
): DroppedContent {
  return {
    graceMicros: garbageGraceMicros,
    release(entries) {
      const ids = [...new Set(entries.flatMap(extentsOf))];
      if (ids.length === 0) return undefined;
      const note = extentGarbageKey(newId(context));
      return {
        puts: [{ key: note, value: encodeExtentGarbage(ids) }],
        async afterwards() {
          await context.content.free(ids);
          await context.store.commit({ checks: [], puts: [], deletes: [note] });
        },
      };
    },
  };
}
