import { requireCounts } from '../../definition/count.js';
import { concurrently } from '../../../base/async/concurrently.js';
import { systemClock, type Clock } from '../../../base/clock.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import { etagOf, rowKeyOf, timestampOf } from '../../definition/stored-entity.js';
import { DecodeError, ValueError } from '../../rows/model-error.js';
import { listOfPacked, packedList } from '../../rows/packed-list.js';
import { unlessConflict } from '../../table/conditional-write.js';
import type { Entities } from '../../table/entities.js';
import { settledSince } from '../../table/grace.js';
import type { UnreadableRow } from '../../table/unreadable-row.js';
import type { SendingQueue } from '../../worker/queue-port.js';
import { sendMessage } from '../../worker/send.js';
import type { ContextReference } from './context-reference.js';
import { orphanId, OrphanMessage, type OrphanNote } from './orphan-message.js';

/** An entity that refers to a missing one. */
export interface Orphan {
  readonly reference: string;
  /** The values of the target's key. */
  readonly target: object;
  readonly entity: object;
  /** Whether it is given to the `repair` of its reference next. */
  readonly isRepaired: boolean;
}

export interface ReferenceCheckOptions {
  /**
   * Entities that were written more recently are left alone, in milliseconds, because their targets
   * may not be written yet. An hour when absent; must exceed the difference between the clocks of
   * program and service.
   */
  readonly graceMs?: number;
  /** Called for each orphan before its repair, for instance to send an alert. */
  readonly onOrphan?: (orphan: Orphan) => Promise<void> | void;
  /** Called for each row that cannot be read; the check goes on. Such a target is there. */
  readonly onUnreadable?: (row: UnreadableRow) => void;
  /** Gets an `OrphanMessage` for each orphan, before its repair. */
  readonly orphansTo?: SendingQueue;
  /** Whether orphans are given to the `repair` of their reference; false when absent. */
  readonly repair?: boolean;
  /** Point reads at a time; 8 when absent. */
  readonly concurrency?: number;
  /** Where to resume: a cursor of `onCursor` of an earlier check of the same references. */
  readonly from?: string;
  /** Called when everything before the cursor is checked. A program that stores it can resume. */
  readonly onCursor?: (cursor: string, soFar: ReferenceReport) => Promise<void> | void;
  /** Stops between pages; resume with the last cursor. */
  readonly signal?: AbortSignal;
  /** The system's when absent. */
  readonly clock?: Clock;
}

/** The findings of this call. */
export interface ReferenceReport {
  /** References that were looked for. */
  readonly checked: number;
  /** Entities that are too young to be checked. */
  readonly young: number;
  /** Orphans that were found, whatever has become of them. */
  readonly orphans: number;
  /**
   * Orphans that the `repair` of their reference has ended: when it had returned, the entity was
   * deleted, or referred to nothing, or to what is there.
   */
  readonly repaired: number;
  /**
   * Orphans that were left: all of them without `repair`, otherwise those whose reference has none,
   * whose repair did not help, or that changed meanwhile. They are in the next check again. Orphans
   * that others have ended meanwhile are neither `repaired` nor `remaining`.
   */
  readonly remaining: number;
  /** Rows that cannot be read: their references were not looked for, or a reference leads there. */
  readonly unreadable: number;
}

/** A declared reference, and the entities of both ends. */
export interface CheckedReference extends ContextReference {
  readonly referring: Entities<AnyDefinition>;
  readonly targets: Entities<AnyDefinition>;
}

type Values = Readonly<Record<string, unknown>>;

const concurrencyDefault = 8;
/** Entities that are read before their references are looked for. */
const pageEntities = 500;

/** Looks for the targets of all references, from a cursor on. */
export async function checkReferencesOf(
  references: readonly CheckedReference[],
  options: ReferenceCheckOptions,
): Promise<ReferenceReport> {
  const { graceMs, clock = systemClock, concurrency = concurrencyDefault } = options;
  const { signal, from, onCursor } = options;
  requireCounts({ concurrency });
  const isSettled = settledSince(clock, graceMs);
  let position = from === undefined ? { at: 0 } : positionOf(from, references);
  const report = { checked: 0, young: 0, orphans: 0, repaired: 0, remaining: 0, unreadable: 0 };
  const onUnreadable = (row: UnreadableRow): void => {
    report.unreadable += 1;
    options.onUnreadable?.(row);
  };
  for (;;) {
    const reference = references[position.at];
    if (reference === undefined) return Object.freeze(report);
    signal?.throwIfAborted();
    const { cursor: start } = position;
    const { items, cursor } = await reference.referring
      .scanTable({ onUnreadable })
      .page({ limit: pageEntities, ...(start === undefined ? {} : { cursor: start }) });
    const settled = items.filter((each) => isSettled(timestampOf(each)?.ticks));
    report.young += items.length - settled.length;
    await concurrently(settled, concurrency, async (entity) => {
      const found = await checkOne(reference, entity, { ...options, onUnreadable });
      if (found === 'none') return;
      report.checked += 1;
      if (found !== 'whole') report.orphans += 1;
      if (found === 'repaired') report.repaired += 1;
      if (found === 'remaining') report.remaining += 1;
    });
    position = cursor === undefined ? { at: position.at + 1 } : { at: position.at, cursor };
    const next = references[position.at];
    if (next !== undefined) await onCursor?.(cursorOf(next.name, cursor), { ...report });
  }
}

/**
 * `none`: the entity refers to nothing; `ended`: it was an orphan, and others have ended that. The
 * target of an orphan is looked for twice before the orphan is reported. With a repair, the entity
 * and its target are read before it and after it.
 */
async function checkOne(
  reference: CheckedReference,
  entity: object,
  { repair = false, onOrphan, orphansTo, onUnreadable }: ReferenceCheckOptions,
): Promise<'none' | 'whole' | 'repaired' | 'ended' | 'remaining'> {
  const { name, targets, keyOf, repair: mend } = reference;
  const target = keyOf(entity);
  if (target === undefined) return 'none';
  const isThere = async (keys = target): Promise<boolean> => {
    try {
      return (await targets.get(keys)) !== undefined;
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      const { partitionKey, rowKey } = targets.codec.key(keys);
      onUnreadable?.({ partitionKey, rowKey, error });
      return true;
    }
  };
  if ((await isThere()) || (await isThere())) return 'whole';
  const isRepaired = repair && mend !== undefined;
  if (orphansTo !== undefined) {
    const note = noteOf(reference, entity, target);
    await sendMessage(orphansTo, OrphanMessage, note, { id: orphanId(note, etagOf(entity)) });
  }
  await onOrphan?.({ reference: name, target, entity, isRepaired });
  if (!isRepaired) return 'remaining';
  const look = async (): Promise<'same' | 'changed' | 'ended'> => {
    const { partitionKey, rowKey } = rowKeyOf(entity);
    const { table, codec } = reference.referring;
    const row = await table.get({ partitionKey, rowKey });
    if (row === undefined || !codec.matches(row)) return 'ended';
    const isSame = row.etag === etagOf(entity);
    try {
      const keys = isSame ? target : keyOf(codec.fromRow(row));
      if (keys === undefined || (await isThere(keys))) return 'ended';
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      onUnreadable?.({ partitionKey, rowKey, error });
    }
    return isSame ? 'same' : 'changed';
  };
  // Reporting the orphan takes time. Another program may have repaired it meanwhile.
  const before = await look();
  if (before !== 'same') return before === 'ended' ? 'ended' : 'remaining';
  const isMended = await unlessConflict(async () => {
    await mend(entity);
    return true;
  });
  if ((await look()) !== 'ended') return 'remaining';
  return isMended ? 'repaired' : 'ended';
}

function noteOf(
  { name, from, to, targets }: CheckedReference,
  entity: object,
  target: Values,
): OrphanNote {
  const { partitionKey, rowKey } = rowKeyOf(entity);
  const key = targets.codec.key(target);
  return {
    reference: name,
    from: { type: from.type, partitionKey, rowKey },
    to: { type: to.type, partitionKey: key.partitionKey, rowKey: key.rowKey },
  };
}

function cursorOf(reference: string, cursor: string | undefined): string {
  return packedList([reference, cursor ?? '']);
}

interface CursorPosition {
  readonly at: number;
  readonly cursor?: string;
}

/** Throws `ValueError` for a text that is no cursor of these references. */
function positionOf(text: string, references: readonly CheckedReference[]): CursorPosition {
  const [name, cursor] = listOfPacked(text);
  const at = references.findIndex((each) => each.name === name);
  if (typeof cursor !== 'string' || at === -1) {
    throw new ValueError('the text is no cursor of a check of these references');
  }
  return cursor === '' ? { at } : { at, cursor };
}
