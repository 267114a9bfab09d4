import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { temporaryContent } from '../../../test/support/content/temporary-content.js';
import { failuresOf } from '../../base/conformance/failures.js';
import {
  contentPieceBytesMax,
  type ContentStore,
  type Extent,
  type ExtentReader,
  type IsReferenced,
  type ScrubStep,
} from '../content-store.js';
import { openMemoryContent } from '../memory/content.js';
import { extentsConformance, linksConformance } from './extents.js';
import { modelConformance } from './model.js';
import { damageConformance, scrubConformance } from './damage.js';
import { retentionConformance, sessionsConformance } from './orphans.js';
import { readRange } from './samples.js';
import type { ContentSuite, OpenedContent } from './suite.js';
import { sampled } from '../../../test/support/run-length.js';

// Stores that each break the contract in one way: the suite detects every one.

interface Canary {
  readonly wrong: string;
  /** The methods in which the wrong store differs from a correct one. */
  readonly over: (store: ContentStore) => Partial<ContentStore>;
  readonly section: (suite: ContentSuite) => void;
  /** The tests of the section that must fail; all others must pass. */
  readonly caughtBy: readonly string[];
}

const canaries: readonly Canary[] = [
  {
    wrong: 'keeps the pieces of a source instead of their bytes',
    over: (store) => ({
      async put(source, owner) {
        const pieces: Buffer[] = [];
        for await (const piece of source) pieces.push(piece);
        return store.put(iterate(pieces), owner);
      },
    }),
    section: extentsConformance,
    caughtBy: [
      'reads what was stored, whatever the length and the pieces',
      'reads any range, in pieces that are not too long and stay while they are used',
      'stores many extents at once',
      'goes on reading an extent that is freed meanwhile',
      'asks a source for one piece at a time, and ends it when there is no room',
      'waits for what is under way when it is closed',
    ],
  },
  {
    wrong: 'stores what came before its source failed',
    over: (store) => ({
      async put(source, owner) {
        let failure: { readonly error: unknown } | undefined;
        async function* until(): AsyncGenerator<Buffer, void, void> {
          try {
            yield* source;
          } catch (error) {
            failure = { error };
          }
        }
        const extent = await store.put(until(), owner);
        if (failure !== undefined) throw failure.error;
        return extent;
      },
    }),
    section: extentsConformance,
    caughtBy: ['leaves nothing of a source that fails, and rejects with what it throws'],
  },
  {
    wrong: 'reads one byte too little',
    over: (store) => ({
      read: (id, start, end) => store.read(id, start, Math.max(start, end - 1)),
    }),
    section: linksConformance,
    caughtBy: ['links an extent of any length, and frees each of the two by itself'],
  },
  {
    wrong: 'hands out a range as one piece',
    over: (store) => ({
      async read(id, start, end) {
        const reader = await store.read(id, start, end);
        reader.close();
        const whole = await readRange(store, id, start, end);
        return { bytes: reader.bytes, pieces: iterate([whole]), close: () => undefined };
      },
    }),
    section: extentsConformance,
    caughtBy: [
      'reads any range, in pieces that are not too long and stay while they are used',
      'ends a reader that is closed, at any time and twice',
    ],
  },
  {
    wrong: 'reads ahead into the memory of a piece that is used',
    over: (store) => ({
      read: async (id, start, end) => overwriting(await store.read(id, start, end)),
    }),
    section: extentsConformance,
    caughtBy: [
      'reads what was stored, whatever the length and the pieces',
      'takes pieces of one byte, and empty ones',
      'reads any range, in pieces that are not too long and stay while they are used',
      'stores many extents at once',
      'goes on reading an extent that is freed meanwhile',
      'asks a source for one piece at a time, and ends it when there is no room',
    ],
  },
  {
    wrong: 'frees a link with the extent that it was made of',
    over(store) {
      const made = new Map<string, string[]>();
      return {
        async link(id, owner) {
          const extent = await store.link(id, owner);
          made.set(id, [...(made.get(id) ?? []), extent.id]);
          return extent;
        },
        free: (ids) => store.free(ids.flatMap((id) => [id, ...(made.get(id) ?? [])])),
      };
    },
    section: linksConformance,
    caughtBy: ['links an extent of any length, and frees each of the two by itself'],
  },
  {
    wrong: 'deletes what is retained',
    over: () => ({ retain: () => () => undefined }),
    section: retentionConformance,
    caughtBy: [
      'keeps what is freed while it is retained, and deletes it afterwards',
      'keeps what was freed while it was retained, and is named again',
      'retains until each of several has been released, each once',
      'deletes nothing when something is retained while the sweep asks',
    ],
  },
  {
    wrong: 'deletes what was retained without asking',
    over: (store) => ({
      sweepOrphans: (options) => store.sweepOrphans({ ...options, isReferenced: nobody }),
    }),
    section: retentionConformance,
    caughtBy: [
      'keeps what is freed while it is retained, and deletes it afterwards',
      'keeps what was freed while it was retained, and is named again',
      'deletes nothing when something is retained while the sweep asks',
      'asks about everything once it is suspected, and deletes what nobody names',
      'asks by owner, and names every suspect of each',
      'sweeps in steps, and goes on after one that was rejected',
    ],
  },
  {
    wrong: 'leaves the last part of its extents out of a scrub',
    over: (store) => ({
      async *scrub() {
        let before: ScrubStep | undefined;
        for await (const step of store.scrub()) {
          if (before !== undefined) yield before;
          before = step;
        }
      },
    }),
    section: scrubConformance,
    caughtBy: ['scrubs every extent and every byte, and finds nothing where nothing is wrong'],
  },
  {
    wrong: 'forgets what it suspected',
    over: () => ({ suspectAll: () => Promise.resolve() }),
    section: modelConformance,
    caughtBy: ['keeps what is named, and after a sweep nothing else, whatever the operations'],
  },
];

/** The same for what only stores that keep something can do wrong. */
const keepingCanaries: readonly {
  readonly wrong: string;
  readonly open: () => Promise<OpenedContent>;
  readonly section: Canary['section'];
  readonly caughtBy: readonly string[];
}[] = [
  {
    wrong: 'takes every other process for dead',
    open: () => temporaryContent({ isListening: () => Promise.resolve(false) }),
    section: sessionsConformance,
    caughtBy: [
      'lets a process beside delete what waited when it was closed, and not before',
      'touches nothing of a session that lives beside',
      'leaves a put alone that goes on while another process sweeps',
    ],
  },
  {
    wrong: 'takes every other process for alive',
    open: () => temporaryContent({ isListening: () => Promise.resolve(true) }),
    section: sessionsConformance,
    caughtBy: [
      'asks about what waited for its commit when its session was closed, and no more',
      'lets a process beside delete what waited when it was closed, and not before',
      'deletes what a crashed session has left unnamed, and nothing else',
      'finds the orphans of several crashes',
      'finds what was freed while it was retained, in a later session',
    ],
  },
  {
    wrong: 'leaves each session as if it had died',
    open: async () => {
      const opened = await temporaryContent();
      return { ...opened, reopen: () => opened.reopen('crashed') };
    },
    section: sessionsConformance,
    caughtBy: [
      'keeps everything over a close, and asks about nothing',
      'asks about what waited for its commit when its session was closed, and no more',
      'asks about nothing of a session whose extents were all confirmed or freed',
      'deletes what a crashed session has left unnamed, and nothing else',
    ],
  },
  {
    wrong: 'takes what waits for its commit for named when it is closed',
    open: async () => {
      const { content, reopen, ...opened } = await temporaryContent();
      return {
        ...opened,
        content: confirming(content),
        reopen: async (end) => confirming(await reopen(end)),
      };
    },
    section: sessionsConformance,
    caughtBy: [
      'asks about what waited for its commit when its session was closed, and no more',
      'lets a process beside delete what waited when it was closed, and not before',
    ],
  },
  {
    wrong: 'hands out what has changed',
    open: async () => blind(await suiteOver(() => ({})).open()),
    section: damageConformance,
    caughtBy: [
      'hands out no byte of a block that has changed, and says where it is',
      'hands out nothing of a small extent that has changed',
      'names in a scrub each extent that has changed, with its owner',
    ],
  },
];

/** No extent waits for its commit. */
function confirming(content: ContentStore): ContentStore {
  const confirmed = async (storing: Promise<Extent>): Promise<Extent> => {
    const extent = await storing;
    content.confirm([extent.id]);
    return extent;
  };
  const wrong: Pick<ContentStore, 'put' | 'link'> = {
    put: (source, owner) => confirmed(content.put(source, owner)),
    link: (id, owner) => confirmed(content.link(id, owner)),
  };
  return differing(content, wrong);
}

/** Damage is seen by nobody but readers, who get it. */
function blind(opened: OpenedContent): OpenedContent {
  const changed = new Map<string, number>();
  const content = new Proxy(opened.content, {
    get(target, name) {
      if (name !== 'read') return Reflect.get(target, name);
      return async (id: string, start: number, end: number) => {
        const found = Buffer.from(await readRange(target, id, start, end));
        const at = (changed.get(id) ?? -1) - start;
        if (at >= 0 && at < found.length) found[at] = (found[at] ?? 0) ^ 1;
        const { bytes } = await target.read(id, 0, 0);
        return { bytes, pieces: iterate([found]), close: () => undefined };
      };
    },
  });
  const damage = (id: string, offset: number) => Promise.resolve(void changed.set(id, offset));
  return { ...opened, content, damage };
}

async function* iterate(pieces: readonly Buffer[]): AsyncGenerator<Buffer, void, void> {
  yield* pieces;
}

const nobody: IsReferenced = () => Promise.resolve(new Set());

function overwriting(reader: ExtentReader): ExtentReader {
  const memory = Buffer.alloc(contentPieceBytesMax);
  async function* pieces(): AsyncGenerator<Buffer, void, void> {
    for await (const piece of reader.pieces) {
      piece.copy(memory);
      setImmediate(() => memory.fill(0));
      yield memory.subarray(0, piece.length);
    }
  }
  return { bytes: reader.bytes, pieces: pieces(), close: () => reader.close() };
}

/** A store with other methods in place of some of its own. */
function differing(right: ContentStore, differences: Partial<ContentStore>): ContentStore {
  return new Proxy(right, {
    get(target, name) {
      const member: unknown = Reflect.get(name in differences ? differences : target, name);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

function suiteOver(over: Canary['over']): ContentSuite {
  return {
    name: 'a wrong store',
    async open() {
      let room = Infinity;
      const right = openMemoryContent({ bytesMax: () => room });
      return {
        content: differing(right, over(right)),
        leaveRoom: (bytes) => void (room = bytes),
        async count() {
          let extents = 0;
          for await (const step of right.scrub()) extents += step.extents;
          return extents;
        },
        dispose: () => right.close(),
      };
    },
    modelRuns: 60,
    capabilities: { persistent: false, damageable: false },
  };
}

describe('the suite of content stores', () => {
  for (const { wrong, over, section, caughtBy } of sampled(canaries, 4)) {
    it(`catches a store that ${wrong}`, async () => {
      assert.deepEqual(await failuresOf(section, suiteOver(over)), caughtBy);
    });
  }

  for (const { wrong, open, section, caughtBy } of sampled(keepingCanaries)) {
    it(`catches a store that ${wrong}`, async () => {
      const suite = { ...suiteOver(() => ({})), open };
      assert.deepEqual(await failuresOf(section, suite), caughtBy);
    });
  }

  it('lets a correct store pass', async () => {
    const sections = [extentsConformance, linksConformance, retentionConformance, scrubConformance];
    for (const section of sections) {
      assert.deepEqual(
        await failuresOf(
          section,
          suiteOver(() => ({})),
        ),
        [],
      );
    }
  });
});
