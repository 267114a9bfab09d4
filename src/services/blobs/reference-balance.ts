import { Slice } from '../../base/async/slice.js';
import { nameOfBytes } from '../../base/bytes.js';
import { newId, type BlobContext } from './blob-context.js';
import type { Changes } from './changes.js';
import { putPieceGarbage } from './contents.js';
import type { BlobKeys } from './keys.js';
import type { Segment } from './segments.js';

/** How many references to each piece a commit adds or removes. */
export class ReferenceBalance {
  readonly #pieces = new Map<string, { readonly segment: Segment; gained: number }>();

  add(segment: Segment, references: number): void {
    const { kind, id } = segment.piece;
    const name = kind === 'extent' ? id : `\0${nameOfBytes(id)}`;
    const found = this.#pieces.get(name);
    if (found === undefined) this.#pieces.set(name, { segment, gained: references });
    else found.gained += references;
  }

  /**
   * Makes the commit add the new references, and list the removed ones as garbage. The first
   * reference to a new piece is not counted, so it must not be among them. Returns whether there is
   * garbage.
   */
  async settle(
    context: Pick<BlobContext, 'clock' | 'randomness'>,
    keys: BlobKeys,
    changes: Changes,
  ): Promise<boolean> {
    const slice = new Slice(context.clock);
    const segments: Segment[] = [];
    for (const { segment, gained } of this.#pieces.values()) {
      if (gained > 0) changes.add(keys.pieceReferences(segment.piece), gained);
      for (let left = gained; left < 0; left += 1) segments.push(segment);
      if (slice.isOver) await slice.endOnTime();
    }
    const bornMicros = context.clock.nowMicros();
    putPieceGarbage(keys, changes, { id: newId(context), segments, bornMicros });
    return segments.length > 0;
  }
}
