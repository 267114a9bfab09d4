import type { Row, RowKey, RowProperties, WireValue } from '../../rows/row.js';
import type { Side } from './phase.js';
import { storedText, textIn } from '../../rows/row-parts.js';

/**
 * Properties that a move adds to rows:
 *
 *   MoveEpoch   String, how often the entity was handed over, a space, and the name of the move
 *   MoveTag     String, the ETag of the row that this content was copied from
 *   MoveStamps  String, ids of the last writes
 *   MoveOther   String, JSON: the keys on the other side, in rows whose entity was deleted
 *
 * **Which side owns an entity.** The old side with an even epoch, the new side with an odd one. The
 * row of the owning side is open: only there the entity is written, under the ETag of the row. The
 * other row is closed, and a copy. A handover closes the open row with the next epoch, which ends
 * all writes there, and then opens the other one with its content. A missing row of either side has
 * epoch 0; an unmarked one is open.
 *
 * So the rows of a key are in one of these states, old epoch and new epoch:
 *
 *   2n, up to 2n      the old side owns the entity
 *   2n+1, below       being handed to the new side: the content is that of the old row
 *   2n+1, 2n+1        the new side owns the entity
 *   2n+1, 2n+2        being handed to the old side: the content is that of the new row
 */
export const markNames = {
  epoch: 'MoveEpoch',
  tag: 'MoveTag',
  stamps: 'MoveStamps',
  other: 'MoveOther',
} as const;

const allNames: readonly string[] = Object.values(markNames);

/** The type of rows whose entity was deleted: readers of entities skip them. */
export const tombstoneType = 'Moved';

export interface Mark {
  readonly epoch: number;
  /** Whether the move with this name wrote the epoch. */
  readonly isMarked: boolean;
  readonly tag: string | undefined;
  readonly stamps: string;
  /** The keys on the other side, in a row whose entity was deleted. */
  readonly other: RowKey | undefined;
}

/** The marks of a move in a row. Marks of other moves are ignored. */
export function markOf({ properties }: Row, side: Side, move: string): Mark {
  const epochText = textIn(properties, markNames.epoch) ?? '';
  const space = epochText.indexOf(' ');
  const isMarked = space > 0 && epochText.slice(space + 1) === move;
  const other = textIn(properties, markNames.other);
  return {
    isMarked,
    epoch: isMarked ? Number(epochText.slice(0, space)) : unmarkedEpoch(side),
    tag: isMarked ? textIn(properties, markNames.tag) : undefined,
    stamps: textIn(properties, markNames.stamps) ?? '',
    other: other === undefined ? undefined : keyOfText(other),
  };
}

function unmarkedEpoch(side: Side): number {
  return side === 'old' ? 0 : 1;
}

export function isOpen(side: Side, epoch: number): boolean {
  return (epoch % 2 === 0) === (side === 'old');
}

/** The properties without the marks of moves. */
export function withoutMarks(properties: RowProperties): RowProperties {
  if (!allNames.some((name) => Object.hasOwn(properties, name))) return properties;
  const own: Record<string, WireValue> = { ...properties };
  for (const name of allNames) delete own[name];
  return own;
}

export function markProperties(
  move: string,
  { epoch, tag, stamps }: Pick<Mark, 'epoch' | 'tag' | 'stamps'>,
): RowProperties {
  return {
    [markNames.epoch]: storedText(`${epoch} ${move}`),
    ...(tag === undefined ? {} : { [markNames.tag]: storedText(tag) }),
    ...stampProperties(stamps),
  };
}

export function stampProperties(stamps: string): RowProperties {
  return stamps === '' ? {} : { [markNames.stamps]: storedText(stamps) };
}

function keyOfText(value: string): RowKey | undefined {
  const [partitionKey, rowKey] = JSON.parse(value) as readonly unknown[];
  if (typeof partitionKey !== 'string' || typeof rowKey !== 'string') return undefined;
  return { partitionKey, rowKey };
}
