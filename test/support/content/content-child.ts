import { systemClock } from '../../../src/base/clock.js';
import { systemRandomness } from '../../../src/base/randomness.js';
import { piecesOf, sample } from '../../../src/content/conformance/samples.js';
import type { ExtentId } from '../../../src/content/content-store.js';
import { openFileContent } from '../../../src/content/files/content.js';
import { SimRandom } from '../sim-random.js';

// Stores, links, frees and sweeps in the data directory of the first argument until it is killed.
// The key space is kept by its parent, which answers each message when it has noted it.

/** What the parent notes, and answers with what it names. */
export type ChildMessage =
  | { readonly kind: 'name'; readonly id: ExtentId; readonly bytes: number; readonly seed: number }
  | { readonly kind: 'link'; readonly id: ExtentId; readonly from: ExtentId }
  /** Picks an extent that is named no longer, but noted. */
  | { readonly kind: 'unname' }
  | { readonly kind: 'freed'; readonly id: ExtentId }
  | { readonly kind: 'pick' }
  | { readonly kind: 'named'; readonly ids: readonly ExtentId[] };

export interface ParentMessage {
  readonly number: number;
  readonly ids: readonly ExtentId[];
}

const [directory = '', seed = '0'] = process.argv.slice(2);
const random = new SimRandom(Number(seed));
const content = await openFileContent({
  directory,
  clock: systemClock,
  randomness: systemRandomness,
});

let asked = 0;
const waiting = new Map<number, (ids: readonly ExtentId[]) => void>();
process.on('message', ({ number, ids }: ParentMessage) => {
  waiting.get(number)?.(ids);
  waiting.delete(number);
});
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));

function ask(message: ChildMessage): Promise<readonly ExtentId[]> {
  asked += 1;
  const number = asked;
  return new Promise((resolve) => {
    waiting.set(number, resolve);
    process.send?.({ ...message, number });
  });
}

async function work(): Promise<void> {
  for (;;) {
    const kind = random.weighted({ put: 5, link: 2, free: 3 });
    if (kind === 'put') {
      const [bytes, seed] = [random.pick([0, 100, 30_000, 500_000]), random.int(1000)];
      const { id } = await content.put(piecesOf(sample(bytes, seed)), Buffer.from('owner'));
      await ask({ kind: 'name', id, bytes, seed });
    } else if (kind === 'link') {
      const [from] = await ask({ kind: 'pick' });
      if (from === undefined) continue;
      // Another worker may free it meanwhile.
      const linked = await content.link(from, Buffer.from('link')).catch(() => undefined);
      if (linked !== undefined) await ask({ kind: 'link', id: linked.id, from });
    } else {
      const [id] = await ask({ kind: 'unname' });
      if (id === undefined) continue;
      await content.free([id]);
      await ask({ kind: 'freed', id });
    }
  }
}

async function sweepAlways(): Promise<void> {
  for (;;) {
    const isReferenced = async (_owner: unknown, ids: readonly ExtentId[]) =>
      new Set(await ask({ kind: 'named', ids }));
    await content.sweepOrphans({ isReferenced, extentsMax: 64 });
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

await Promise.all([work(), work(), work(), sweepAlways()]);
