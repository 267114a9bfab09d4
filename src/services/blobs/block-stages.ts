import { nextTurn } from '../../base/async/turns.js';
import type { Entry, Store } from '../../kv/store.js';
import { decodeCounter } from '../../kv/counter.js';
import { entriesOf } from '../containers/walk.js';
import type { BlobContext } from './blob-context.js';
import type { BlobRecord, BlockStage } from './blob-record.js';
import type { Changes } from './changes.js';
import { encodeGroupGarbage, type GroupGarbage } from './garbage.js';
import { blobKind, containerOfKey, dueHintKey, type BlobKeys } from './keys.js';
import { uncommittedSecondsMax } from './limits.js';
import { decodeBlock, type Segment } from './segments.js';

/** Blocks that are read before others have a turn. */
const blocksPerTurn = 500;

/** A stage that has not expired, with the counter of its blocks. */
export interface OpenBlockStage extends BlockStage {
  /** Its version changes with every Put Block. */
  readonly counter: Entry | undefined;
  readonly blocks: number;
}

/** When the blocks of a stage expire (blob-service §12.3). */
export function blockStageEndsMicros(lastPutMicros: number): number {
  return lastPutMicros + uncommittedSecondsMax * 1_000_000;
}

/** The stage of a blob; undefined when it has none, or an expired one. */
export async function openBlockStage(
  store: Store,
  keys: BlobKeys,
  record: BlobRecord | undefined,
  nowMicros: number,
): Promise<OpenBlockStage | undefined> {
  if (record?.stage === undefined) return undefined;
  const counter = await store.get(keys.blockCount(record.stage.id));
  // A blob with a stage has a block: the commit that makes the stage puts the first.
  if (counter === undefined || blockStageEndsMicros(counter.version) <= nowMicros) return undefined;
  return { ...record.stage, counter, blocks: decodeCounter(counter.value) };
}

/**
 * Makes the remaining blocks of a stage garbage, in the commit that writes the record without the
 * stage. A block that is put at the same time makes the commit fail.
 */
export function endBlockStage(
  keys: BlobKeys,
  changes: Changes,
  { id, counter }: Pick<OpenBlockStage, 'id' | 'counter'>,
  garbage: GroupGarbage,
): void {
  const key = keys.blockCount(id);
  changes.checkRead(key, counter);
  if (counter !== undefined) changes.delete(key);
  changes.put(keys.groupGarbage(blobKind.block, id), encodeGroupGarbage(garbage));
}

/** Ends the stage of a blob that is overwritten or deleted, if it has one. */
export async function dropBlockStage(
  { store, clock }: Pick<BlobContext, 'store' | 'clock'>,
  keys: BlobKeys,
  changes: Changes,
  record: Pick<BlobRecord, 'stage'> | undefined,
): Promise<void> {
  if (record?.stage === undefined) return;
  const { id } = record.stage;
  const counter = await store.get(keys.blockCount(id));
  const bornMicros = clock.nowMicros();
  endBlockStage(keys, changes, { id, counter }, { pieces: 'released', bornMicros });
}

/** An uncommitted block. */
export interface StagedBlock extends Segment {
  readonly blockId: NonNullable<Segment['blockId']>;
}

/**
 * All blocks of a stage, in the order of the bytes of their ids. They are not read from one
 * snapshot.
 */
export async function* blocksOf(
  store: Store,
  keys: BlobKeys,
  { id }: Pick<BlockStage, 'id'>,
): AsyncGenerator<StagedBlock, void, void> {
  let count = 0;
  for await (const { key, value } of entriesOf(store, keys.blocks(id))) {
    count += 1;
    if (count % blocksPerTurn === 0) await nextTurn();
    yield { blockId: keys.blockIdOf(key), ...decodeBlock(value) };
  }
}

/** Puts the hint that leads the sweep to a stage when its time may be over. */
export async function putBlockStageHint(
  { store }: Pick<BlobContext, 'store'>,
  keys: BlobKeys,
  name: string,
  lastPutMicros: number,
): Promise<void> {
  const container = containerOfKey(keys.base);
  const key = dueHintKey(container, blockStageEndsMicros(lastPutMicros), name);
  await store.commit({
    checks: [],
    puts: [{ key, value: Buffer.alloc(0) }],
    deletes: [],
  });
}
