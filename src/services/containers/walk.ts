import type { Bytes } from '../../base/bytes.js';
import { pagesOf } from '../../kv/pages.js';
import type { Entry, KeyRange, Store } from '../../kv/store.js';
import { prefixRange } from '../../kv/tuple.js';
import { accountOfKey, accountPrefix, servicePrefix } from './keys.js';

const pageEntriesMax = 1000;
const pageBytesMax = 4 << 20;

/** The accounts with any data in a service, in order. One read per account. */
export async function* accountsOf(store: Store, service: string): AsyncGenerator<string> {
  const everything = prefixRange(servicePrefix(service));
  let start: Bytes | undefined = everything.start;
  while (start !== undefined) {
    const range: KeyRange = { ...everything, start };
    const { entries } = await store.range(range, { limit: 1, bytesMax: pageBytesMax });
    const [first]: readonly Entry[] = entries;
    if (first === undefined) return;
    const account = accountOfKey(first.key);
    yield account;
    start = prefixRange(accountPrefix(service, account)).end;
  }
}

/**
 * The entries of a range, read page by page. Later pages show changes that happen while the caller
 * works.
 */
export async function* entriesOf(store: Store, range: KeyRange): AsyncGenerator<Entry> {
  const options = { limit: pageEntriesMax, bytesMax: pageBytesMax };
  for await (const entries of pagesOf(store, range, options)) yield* entries;
}
