import type { KeyRange, Store } from '../../kv/store.js';
import { decodeTuple, encodeTuple, prefixRange } from '../../kv/tuple.js';
import { boundText } from '../../partition/bound-text.js';
import { droppedContainersPrefix, droppedIdOfKey } from '../../services/containers/keys.js';
import { entriesOf } from '../../services/containers/walk.js';
import { queueKind } from '../../services/queues/queue-record.js';
import { tableKind } from '../../services/tables/table-record.js';
import type { NamesOf } from './container-names.js';

/** Entries, or messages, of a table or a queue that is not there. */
export interface Unnamed {
  /** Its place, such as `table/devstoreaccount1/#7`. */
  readonly place: string;
  readonly what: 'entities' | 'messages';
}

const one = { limit: 1, bytesMax: 1 } as const;

/**
 * Finds data of tables and queues that neither exist nor were deleted recently, so that no list has
 * their number. Reads one key of each, in the order of the keys.
 */
export async function unnamedContainers(
  store: Store,
  {
    namesOf,
    onKeys,
  }: { readonly namesOf: NamesOf; readonly onKeys: (keys: number) => Promise<void> },
): Promise<readonly Unnamed[]> {
  const found: Unnamed[] = [];
  for (const { service } of [tableKind, queueKind]) {
    const what = service === tableKind.service ? 'entities' : 'messages';
    const known = new Map<string, ReadonlySet<number>>();
    const look = async (account: string): Promise<ReadonlySet<number>> => {
      const ids = await idsOf(store, { service, account, namesOf });
      // Keys are in the order of accounts, so the former one does not come again.
      known.clear();
      known.set(account, ids);
      return ids;
    };
    const all = prefixRange(encodeTuple([service]));
    for (let rest: KeyRange | undefined = all; rest !== undefined;) {
      const [entry] = (await store.range(rest, one)).entries;
      if (entry === undefined) break;
      await onKeys(1);
      const [, accountElement, idElement] = decodeTuple(entry.key);
      const [account, id] = [String(accountElement), Number(idElement)];
      const container = prefixRange(encodeTuple([service, account, id]));
      rest = container.end && { ...all, start: container.end };
      if (id === 0 || (known.get(account) ?? (await look(account))).has(id)) continue;
      // The container may have been created or deleted since the list was read: read it again.
      if ((await look(account)).has(id)) continue;
      // One that was deleted since the entry was read may have been freed since then.
      const isFreed = (await store.range(container, one)).entries.length === 0;
      if (!isFreed) found.push({ place: boundText(container.start), what });
    }
  }
  return found;
}

/** Tables or queues that exist, and those that were deleted and are still being freed. */
async function idsOf(
  store: Store,
  {
    service,
    account,
    namesOf,
  }: { readonly service: string; readonly account: string; readonly namesOf: NamesOf },
): Promise<ReadonlySet<number>> {
  const ids = new Set((await namesOf(service, account)).keys());
  const prefix = droppedContainersPrefix(service, account);
  for await (const { key } of entriesOf(store, prefixRange(prefix))) {
    ids.add(droppedIdOfKey(key, prefix));
  }
  return ids;
}
