import type { Place, Slot } from './place.js';
import { untilSettled, type Step, type StepContext, type StepOutcome } from './step.js';

/**
 * Steps that transfer between any two locations: partitions, tables, accounts, blobs, files. They
 * overwrite only the version that they have read, by ETag: concurrent runs of an intent do not undo
 * each other, and concurrent changes by others are included, not lost.
 */

/** A place to read from. The values may contain more than storing needs. */
export interface Readable<Payload, Value> {
  readonly name: string;
  slot(payload: Payload): Omit<Slot<never>, 'read' | 'store'> & {
    read(): Promise<{ readonly value: Value; readonly etag: string } | undefined>;
  };
}

/** The source and target of a mirror. */
export interface MirrorOptions<Payload, From, To> {
  /** For reports; made of the places' names when absent. */
  readonly name?: string;
  readonly from: Readable<Payload, From>;
  readonly to: Place<Payload, To>;
  /**
   * Makes the value to store from a source. Can be omitted when the source itself can be stored.
   */
  readonly convert?: (source: From, payload: Payload) => To;
}

/** The source and target of a copy or move. */
export interface TransferOptions<Payload, From, To> extends MirrorOptions<Payload, From, To> {
  /**
   * Whether the source is the one of the intent, by a property that never changes, such as its
   * creation time. Another source that now has the same key is ignored, as if there were none.
   * Always true when absent.
   */
  readonly isMeant?: (source: From, payload: Payload) => boolean;
}

type Converting<Options extends { readonly convert?: unknown }> = Options &
  Required<Pick<Options, 'convert'>>;

interface Transfer<Payload, From> {
  readonly payload: Payload;
  readonly context: StepContext;
  readonly read: () => Promise<{ readonly value: From; readonly etag: string } | undefined>;
  readonly deleteSource: (etag: string) => Promise<boolean>;
  readonly target: Pick<Slot<never>, 'etag' | 'delete'>;
  readonly store: (source: From, etag: string | undefined) => Promise<boolean>;
}

function transferOf<Payload, From, To>(
  options: TransferOptions<Payload, From, To>,
  payload: Payload,
  context: StepContext,
): Transfer<Payload, From> {
  const { from, to, isMeant } = options;
  const source = from.slot(payload);
  const target = to.slot(payload);
  // Only absent when the signatures of the steps guarantee that a From is a To.
  const convert = options.convert ?? ((value: From) => value as From & To);
  return {
    payload,
    context,
    target,
    read: async () => {
      const found = await source.read();
      const isOther = found !== undefined && isMeant?.(found.value, payload) === false;
      return isOther ? undefined : found;
    },
    deleteSource: (etag) => source.delete(etag),
    store: (value, etag) => {
      context.signal.throwIfAborted();
      return target.store(convert(value, payload), etag);
    },
  };
}

/**
 * Copies the current source over whatever is at the target. Sends a read of the target's ETag, a
 * read of the source, and a conditional write; starts again after a conflict. Without a source
 * nothing changes: `already-done` when there is a target, because later steps may have deleted the
 * source, and `void` when there is none.
 */
export function copyStep<Payload, To, From extends To>(
  options: TransferOptions<Payload, From, To>,
): Step<Payload>;
export function copyStep<Payload, From, To>(
  options: Converting<TransferOptions<Payload, From, To>>,
): Step<Payload>;
export function copyStep<Payload, From, To>(
  options: TransferOptions<Payload, From, To>,
): Step<Payload> {
  return transferStep('copy', options, async ({ target, read, store }) => {
    const etag = await target.etag();
    const source = await read();
    if (source === undefined) return etag === undefined ? 'void' : 'already-done';
    return (await store(source.value, etag)) ? 'done' : undefined;
  });
}

/**
 * Moves the source to the target. Sends a read of the source, a write where nothing is at the
 * target, and a delete of the source. An existing target is replaced, after its ETag and the source
 * were read. The source is deleted only in the version that was copied; when it has changed, it is
 * copied again. Without a source, one more request determines whether the target exists
 * (`already-done`) or not (`void`).
 *
 * Readers see the value at the source, then at both, then at the target. A reader of the source and
 * then the target sees it at least once.
 */
export function moveStep<Payload, To, From extends To>(
  options: TransferOptions<Payload, From, To>,
): Step<Payload>;
export function moveStep<Payload, From, To>(
  options: Converting<TransferOptions<Payload, From, To>>,
): Step<Payload>;
export function moveStep<Payload, From, To>(
  options: TransferOptions<Payload, From, To>,
): Step<Payload> {
  return transferStep('move', options, async (transfer, isFirst) => {
    const { context, target, read, store, deleteSource } = transfer;
    // Read before the source: a newer copy stored in between changes the ETag.
    const etag = isFirst ? undefined : await target.etag();
    const source = await read();
    if (source === undefined) {
      return (etag ?? (await target.etag())) === undefined ? 'void' : 'already-done';
    }
    if (!(await store(source.value, etag))) return undefined;
    context.signal.throwIfAborted();
    return (await deleteSource(source.etag)) ? 'done' : undefined;
  });
}

/**
 * Makes the target equal to the current source, and deletes it when there is no source: for copies
 * that follow their original. Start it after every change of the original, in any order and any
 * number of times. Sends a read of the target's ETag, a read of the source, then nothing, a delete,
 * a replace, or an insert and another read of the source; starts again after a conflict.
 */
export function mirrorStep<Payload, To, From extends To>(
  options: MirrorOptions<Payload, From, To>,
): Step<Payload>;
export function mirrorStep<Payload, From, To>(
  options: Converting<MirrorOptions<Payload, From, To>>,
): Step<Payload>;
export function mirrorStep<Payload, From, To>(
  options: MirrorOptions<Payload, From, To>,
): Step<Payload> {
  return transferStep('mirror', options, async ({ context, target, read, store }) => {
    const etag = await target.etag();
    const source = await read();
    if (source === undefined) {
      if (etag === undefined) return 'already-done';
      context.signal.throwIfAborted();
      return (await target.delete(etag)) ? 'done' : undefined;
    }
    if (!(await store(source.value, etag))) return undefined;
    if (etag !== undefined) return 'done';
    // A concurrent deletion of the source may have found no target to delete yet.
    return (await read()) === undefined ? undefined : 'done';
  });
}

function transferStep<Payload, From, To>(
  verb: string,
  options: TransferOptions<Payload, From, To>,
  attempt: (
    transfer: Transfer<Payload, From>,
    isFirst: boolean,
  ) => Promise<StepOutcome | undefined>,
): Step<Payload> {
  const { from, to, name = `${verb} ${from.name} to ${to.name}` } = options;
  return {
    name,
    run: (payload, context) => {
      const transfer = transferOf(options, payload, context);
      let isFirst = true;
      return untilSettled(name, context.signal, () => {
        const wasFirst = isFirst;
        isFirst = false;
        return attempt(transfer, wasFirst);
      });
    },
  };
}
