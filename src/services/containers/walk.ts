import type { Bytes } from '../../base/bytes.js';
import type { Entry, KeyRange, RangePage, Store } from '../../kv/store.js';
import { keyAfter, prefixRange } from '../../kv/tuple.js';
import { accountOfKey, accountPrefix, servicePrefix } from './keys.js';

const pageEntriesMax = 1000;
const pageBytesMax = 4 << 20;

/** The accounts with any data in a service, in order. One read per account. */
export async function* accountsOf(store: Store, service: string): AsyncGenerator<string> {
  const everything = prefixRange(servicePrefix(service));
  let start: Bytes | undefined = everything.start;
  while (start !== undefined) {
    const page: RangePage = await readPage(store, { ...everything, start }, 1);
    const [first] = page.entries;
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
  let start: Bytes | undefined = range.start;
  while (start !== undefined) {
    const page: RangePage = await readPage(store, { ...range, start }, pageEntriesMax);
    yield* page.entries;
    const last: Entry | undefined = page.entries.at(-1);
    start = page.more && last !== undefined ? keyAfter(last.key) : undefined;
  }
}

function readPage(store: Store, range: KeyRange, limit: number): Promise<RangePage> {
  return store.range(range, { limit, bytesMax: pageBytesMax });
}
