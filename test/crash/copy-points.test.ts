import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { byLength, costly } from '../support/run-length.js';
import { SimRandom } from '../support/sim-random.js';
import { numberSetting, seedSetting } from '../support/sim-settings.js';
import type { BlobWireClient } from '../wire/kit/blob-client.js';
import { crashContainer } from './blob-load.js';
import { listedNames } from './blob-settle.js';
import { sweepEverything } from './blob-sweep.js';
import { HoldingSources, type HeldCopy, type SourceKind } from './copy-source.js';
import { startFast, type FastServer } from './fast-blobs.js';

// How to repeat and to run longer: docs/internals/correctness.md.

const seed = seedSetting('TABULARIUM_CRASH_SEED');
const rounds = numberSetting('TABULARIUM_CRASH_ROUNDS', byLength({ short: 2, long: 40 }));
const copiesAtOnce = 4;
const targets = Array.from({ length: 10 }, (_, at) => `copy-${at}`);
/** Some are kept in the key space, the others in files. */
const blockSizes = [512, 32_768, 33_280, 150_016, 1_000_448];
const flags = ['--copy-source', '127.0.0.1:*', '--copy-source-private'];
/** Longer than a copy of which nobody tells anything counts as one that goes on. */
const endsWithinMs = 120_000;

/** What clients may find at a target when no copy is pending there. */
type Found =
  | {
      readonly bytes: Buffer;
      readonly status: string | undefined;
      readonly copyId: string | undefined;
    }
  | undefined;

/** What is at each target. */
type Known = Map<string, Found>;

const pathOf = (target: string): string => `/${crashContainer}/${target}`;

/** Where the server is killed: before the first byte, between extents, in one, and at the end. */
function holdPointOf(random: SimRandom, blocks: readonly number[]): number | undefined {
  const point = random.weighted({ first: 1, between: 2, within: 1, end: 4 });
  const until = random.between(1, blocks.length - 1);
  const before = blocks.slice(0, until).reduce((sum, block) => sum + block, 0);
  switch (point) {
    case 'first':
      return 0;
    case 'between':
      return before;
    case 'within':
      return before + random.int(blocks[until] ?? 1);
    case 'end':
      return undefined;
    default:
      throw new Error(point satisfies never);
  }
}

/** A page blob is copied to a page blob alone, so each target keeps its kind. */
function kindOf(target: string): SourceKind {
  const at = targets.indexOf(target);
  return at % 3 === 2 ? 'page' : at % 2 === 0 ? 'block' : 'file';
}

function newCopy(random: SimRandom, kind: SourceKind): HeldCopy {
  const blocks = Array.from({ length: random.between(2, 6) }, () => random.pick(blockSizes));
  const length = blocks.reduce((sum, block) => sum + block, 0);
  const bytes = Buffer.alloc(length, random.bytes(16));
  return { kind, bytes, blocks, holdsAt: holdPointOf(random, blocks) };
}

interface BegunCopy {
  readonly target: string;
  readonly copy: HeldCopy;
  /** The status of the answer; undefined when none came. */
  readonly answered: Promise<number | undefined>;
}

/** What is there when no copy is pending; undefined: one is. */
async function ended(
  client: BlobWireClient,
  target: string,
): Promise<{ found: Found } | undefined> {
  const path = pathOf(target);
  const response = await client.send({ path });
  if (response.status === 404) return { found: undefined };
  assert.equal(response.status, 200, `${path}: ${response.text}`);
  const status = response.header('x-ms-copy-status');
  if (status === 'pending') return undefined;
  if (status === 'failed') {
    assert.match(response.header('x-ms-copy-status-description') ?? '', /^500 OperationCancelled/);
  }
  return { found: { bytes: response.body, status, copyId: response.header('x-ms-copy-id') } };
}

async function eventuallyEnded(client: BlobWireClient, target: string): Promise<Found> {
  for (const endMs = performance.now() + endsWithinMs; performance.now() < endMs;) {
    const now = await ended(client, target);
    if (now !== undefined) return now.found;
    await pause(50);
  }
  return assert.fail(`the copy to ${target} is pending after ${endsWithinMs} ms`);
}

/** Compares what has become of a copy with what may become of one. */
async function check(client: BlobWireClient, known: Known, begun: BegunCopy): Promise<string> {
  const { target, copy } = begun;
  const found = await eventuallyEnded(client, target);
  const before = known.get(target);
  const isAcknowledged = (await begun.answered) !== undefined;
  known.set(target, found);
  if (found?.status === 'success' && found.bytes.equals(copy.bytes)) return 'success';
  // The bytes of a page blob that are to come are zeros.
  const isEmpty = found !== undefined && !found.bytes.some((byte) => byte !== 0);
  // A target may have failed before as well.
  const isEarlier = found?.copyId === before?.copyId;
  if (found?.status === 'failed' && isEmpty && !isEarlier) return 'failed';
  const isBefore =
    found?.status === before?.status &&
    (found === undefined || before === undefined
      ? found === before
      : found.bytes.equals(before.bytes));
  assert.ok(isBefore && !isAcknowledged, `${target} is ${found?.status}, which nobody has made`);
  return 'as before';
}

it(
  `ends each copy that it has acknowledged when it is killed at ${rounds} points of copies (seed ${seed})`,
  costly(),
  async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'tabularium-copy-crash-'));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const sources = await HoldingSources.start();
    t.after(() => sources.close());
    const random = new SimRandom(seed);
    const known: Known = new Map();
    const outcomes = new Map<string, number>();
    let server: FastServer = await startFast(folder, flags);
    const kill = () => server.process.end('SIGKILL');
    try {
      const first = server.client();
      await first.expect(201, { method: 'PUT', path: `/${crashContainer}?restype=container` });
      first.close();
      for (let round = 1; round <= rounds; round += 1) {
        const free = [...targets];
        const copies = Array.from({ length: copiesAtOnce }, () => {
          const [target = ''] = free.splice(random.int(free.length), 1);
          const copy = newCopy(random, kindOf(target));
          const source = sources.add(copy);
          const client = server.client();
          const headers = { 'x-ms-copy-source': source.url };
          const answered = client
            .send({ method: 'PUT', path: pathOf(target), headers })
            .then(({ status, text }) => {
              assert.equal(status, 202, text);
              return status;
            })
            // The server was killed before.
            .catch((error: unknown) => {
              if (error instanceof assert.AssertionError) throw error;
              return undefined;
            })
            .finally(() => client.close());
          return { target, copy, source, answered };
        });
        // Most are where they are held then; sometimes not even the requests are answered.
        if (random.chance(0.8)) await Promise.all(copies.map(({ source }) => source.reached));
        await pause(random.between(0, 40));
        await kill();
        await Promise.all(copies.map(({ answered }) => answered));
        server = await startFast(folder, flags);
        if (random.chance(0.3)) {
          // The end of the copies is killed as well.
          await pause(random.between(0, 1_500));
          await kill();
          server = await startFast(folder, flags);
        }
        const again = server.client();
        for (const begun of copies) {
          const outcome = await check(again, known, begun);
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        }
        const names = await listedNames(again);
        for (const target of targets) {
          assert.equal(names.has(target), known.get(target) !== undefined, `${target} in the list`);
        }
        again.close();
      }
      const last = server.client();
      for (const target of targets) {
        const copy = { ...newCopy(random, kindOf(target)), holdsAt: undefined };
        const headers = { 'x-ms-copy-source': sources.add(copy).url };
        await last.expect(202, { method: 'PUT', path: pathOf(target), headers });
        const found = await eventuallyEnded(last, target);
        assert.equal(found?.status, 'success');
        assert.ok(found.bytes.equals(copy.bytes), `${target} is whole`);
      }
      last.close();
    } finally {
      await kill();
    }
    const extents = await sweepEverything(join(folder, 'data'));
    t.diagnostic(`${JSON.stringify(Object.fromEntries(outcomes))}, ${extents} extents`);
  },
);
