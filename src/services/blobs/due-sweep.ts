import { nameOfBytes, type Bytes } from '../../base/bytes.js';
import { nextTurn } from '../../base/async/turns.js';
import type { Entry } from '../../kv/store.js';
import { containerPrefix } from '../containers/keys.js';
import { SweepCursor, type Reclaimed } from '../containers/sweep-cursor.js';
import type { BlobContext } from './blob-context.js';
import { readState, putRecord } from './blob-state.js';
import { commitChanges } from './changes.js';
import { containerKind } from './container-record.js';
import { failCopyWhenDue } from './foreign-copies.js';
import { BlobKeys, dueHintKey, dueHints, readDueHint } from './keys.js';
import { purgeDeleted } from './purge.js';
import { dropBlockStage, blockStageEndsMicros } from './block-stages.js';

const hintsPerRead = 100;

interface DueHint {
  readonly container: Bytes;
  readonly entry: Entry;
}

/**
 * Carries out the work that is due in blobs: it removes uncommitted blocks a week after the last
 * Put Block (blob-service §12.3), purges soft-deleted blobs after their retention, and fails
 * pending copies whose process has died. A hint leads to a blob in which something may be due. If
 * it is not due yet, a later hint replaces it.
 */
export function dueSweep(context: BlobContext): SweepCursor<DueHint> {
  return new SweepCursor({
    all: () => dueHintsOf(context),
    nameOf: ({ entry }) => nameOfBytes(entry.key),
    clear: (hint, entriesMax) => act(context, hint, entriesMax),
  });
}

async function* dueHintsOf({
  containers,
  store,
  clock,
}: BlobContext): AsyncGenerator<DueHint, void, void> {
  for await (const { account, id } of containers.all()) {
    const container = containerPrefix(containerKind.service, account, id);
    const range = dueHints(container, clock.nowMicros());
    // Acting on a hint deletes it, so the first ones are always new, or wait for the next round.
    const { entries } = await store.range(range, { limit: hintsPerRead, bytesMax: Infinity });
    for (const entry of entries) yield { container, entry };
    await nextTurn();
  }
}

async function act(
  context: BlobContext,
  { container, entry }: DueHint,
  entriesMax: number,
): Promise<Reclaimed> {
  const { store } = context;
  const { name } = readDueHint(entry.key, container);
  const keys = new BlobKeys(container, name);
  const purged = await purgeDeleted(context, keys, entriesMax);
  if (purged.more) return purged;
  const dueMicros = [await failCopyWhenDue(context, keys), await dropStageWhenDue(context, keys)];
  const nextMicros = dueMicros.reduce((first, each) =>
    first === undefined || (each !== undefined && each < first) ? each : first,
  );
  const { key, version } = entry;
  const next = nextMicros === undefined ? undefined : dueHintKey(container, nextMicros, name);
  await store.commit({
    checks: [{ key, version }],
    puts: next === undefined ? [] : [{ key: next, value: entry.value }],
    deletes: [key],
  });
  return { deleted: purged.deleted + 1, more: false };
}

/** Returns when the stage of a blob may be due, if it is not yet. */
async function dropStageWhenDue(context: BlobContext, keys: BlobKeys): Promise<number | undefined> {
  return commitChanges(context, async (changes) => {
    const state = await readState(context, keys, changes);
    const { record, nowMicros } = state;
    if (record?.stage === undefined) return () => undefined;
    const counter = await context.store.get(keys.blockCount(record.stage.id));
    const endsMicros = blockStageEndsMicros(counter?.version ?? 0);
    if (endsMicros > nowMicros) return () => endsMicros;
    await dropBlockStage(context, keys, changes, record);
    if (record.state === 'uncommitted') changes.delete(keys.base);
    else putRecord(state, changes, { ...record, stage: undefined });
    context.onGarbage();
    return () => undefined;
  });
}
