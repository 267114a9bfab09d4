import { concurrently } from '../../../base/async/concurrently.js';
import { ExtentMissingError } from '../../../content/errors.js';
import { ExtentCopies } from '../../../content/files/extent-copies.js';
import { StoredExtents } from '../../../content/files/stored-extents.js';
import type { Entry } from '../../../kv/store.js';
import { referencedPieces } from '../../../services/blobs/referenced-extents.js';
import { isOfBlobs } from '../../../services/blobs/stored-blobs.js';
import { MigrationError } from '../migration-error.js';

/** Files that are copied and read at the same time. */
const filesAtOnce = 4;
/** The number of copied extents that are remembered; others are checked again. */
const rememberedMax = 100_000;

/** Copies the extents that entries name to another directory, and verifies the copies. */
export class ExtentReplica {
  readonly #from: string;
  readonly #copies: ExtentCopies;
  readonly #stored: StoredExtents;
  readonly #onBytes: (bytes: number) => void;
  #brought = new Set<string>();

  private constructor(
    copies: ExtentCopies,
    { from, to, onBytes }: { from: string; to: string; onBytes: (bytes: number) => void },
  ) {
    this.#from = from;
    this.#copies = copies;
    this.#stored = new StoredExtents(to);
    this.#onBytes = onBytes;
  }

  /** `onBytes` is called with the bytes that were copied. Throws `ContentLocationError`. */
  static async open(
    locations: { readonly from: string; readonly to: string },
    onBytes: (bytes: number) => void,
  ): Promise<ExtentReplica> {
    const copies = await ExtentCopies.open(locations.from, locations.to);
    return new ExtentReplica(copies, { ...locations, onBytes });
  }

  /**
   * Copies the extents of entries. One call at a time. Durable when `end` has resolved. Throws
   * `MigrationError`.
   */
  async bring(entries: readonly Entry[]): Promise<void> {
    const named = new Map<string, number>();
    for (const entry of entries) {
      if (!isOfBlobs(entry.key)) continue;
      for (const { piece, bytes } of referencedPieces(entry)) {
        if (piece.kind !== 'extent' || this.#brought.has(piece.id)) continue;
        named.set(piece.id, Math.max(bytes, named.get(piece.id) ?? 0));
      }
    }
    await concurrently(named, filesAtOnce, ([id, bytes]) => this.#bringOne(id, bytes));
  }

  /** Makes all copies durable. */
  end(): Promise<void> {
    return this.#copies.end();
  }

  /** Marks all extents, so that the next start of the target deletes those that no entry names. */
  suspectAll(): Promise<void> {
    return this.#copies.suspectAll();
  }

  async #bringOne(id: string, bytes: number): Promise<void> {
    await this.#copies.copy(id).catch((error: unknown) => {
      if (!(error instanceof ExtentMissingError)) throw error;
      throw new MigrationError(`The bytes of a blob are missing: ${this.#advice(id)}`, {
        cause: error,
      });
    });
    const fault = await this.#stored.verify(id, bytes, () => undefined);
    if (fault !== undefined) {
      throw new MigrationError(`The bytes of a blob are ${fault.problem}: ${this.#advice(id)}`);
    }
    if (this.#brought.size >= rememberedMax) this.#brought = new Set();
    this.#brought.add(id);
    this.#onBytes(bytes);
  }

  #advice(id: string): string {
    return (
      `extent ${id} of ${this.#from}. Nothing has moved. Stop the server and look at its data: ` +
      `tabularium check --location ${this.#from}`
    );
  }
}
