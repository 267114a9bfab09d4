import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ModelDisk, type ModelProcess } from '../../../test/support/content/model-disk.js';
import { byLength, costly } from '../../../test/support/run-length.js';
import { SimRandom } from '../../../test/support/sim-random.js';
import { seedSetting } from '../../../test/support/sim-settings.js';
import { manualClock } from '../../base/clock.js';
import { naming, piecesOf, readAll, sample, sweep } from '../conformance/samples.js';
import type { ExtentId } from '../content-store.js';
import { ContentWriteError } from '../errors.js';
import { openContentIn, type FileContent } from './content.js';

// Random work on a disk that keeps, after a loss of power, anything of what was not synced. What
// the key space names is whole, and after a sweep nothing else is left.

const seed = seedSetting('TABULARIUM_CONTENT_SEED');
const disks = byLength({ short: 30, long: 2000 });
const livesOfDisk = 4;
const workers = 4;

/** The key space, which loses nothing. */
class KeySpace {
  readonly bytes = new Map<ExtentId, Buffer>();
  readonly named = new Set<ExtentId>();
  /** Not named any more, and perhaps not freed yet. */
  readonly notes = new Set<ExtentId>();

  pick(random: SimRandom): ExtentId | undefined {
    return this.named.size === 0 ? undefined : random.pick(Array.from(this.named));
  }
}

function open(process: ModelProcess, random: SimRandom): Promise<FileContent> {
  const randomness = { bytes: (n: number) => random.bytes(n), uuid: () => random.uuid() };
  const place = { files: process, liveness: process.liveness };
  return openContentIn(place, { clock: manualClock(), randomness });
}

/** Works until the process dies, or `isDone`. */
async function work(
  content: FileContent,
  space: KeySpace,
  { random, isDone }: { readonly random: SimRandom; readonly isDone: () => boolean },
): Promise<void> {
  while (!isDone()) {
    const kind = random.weighted({ put: 6, link: 2, free: 4, fail: 1, sweep: 1 });
    const picked = space.pick(random);
    try {
      if (kind === 'put') {
        const bytes = sample(random.pick([0, 10, 3000, 70_000]), random.int(1000));
        const { id } = await content.put(piecesOf(bytes, 40_000), random.bytes(random.int(40)));
        // Some commits are lost; of some that are applied, the answer is lost.
        if (random.chance(0.1)) continue;
        space.bytes.set(id, bytes);
        space.named.add(id);
        if (random.chance(0.8)) content.confirm([id]);
      } else if (kind === 'fail') {
        async function* source(): AsyncGenerator<Buffer, void, void> {
          yield sample(40_000);
          throw new ContentWriteError('the client has left', { isFull: false });
        }
        await content.put(source(), Buffer.from('nobody'));
      } else if (kind === 'sweep') await sweepOnce(content, space);
      else if (picked === undefined) continue;
      else if (kind === 'link') {
        const bytes = space.bytes.get(picked) ?? Buffer.alloc(0);
        const { id } = await content.link(picked, Buffer.from('link'));
        space.bytes.set(id, bytes);
        space.named.add(id);
      } else {
        space.named.delete(picked);
        space.notes.add(picked);
        await content.free([picked]);
        space.notes.delete(picked);
      }
    } catch (error) {
      const isFreed = kind === 'link' && picked !== undefined && !space.named.has(picked);
      if (!isFreed && !(error instanceof ContentWriteError) && !isMade(error)) throw error;
    }
  }
}

/** A failure of the disk reaches who sweeps as the system has it. */
function isMade(error: unknown): boolean {
  return error instanceof Error && error.message.includes('made by a test');
}

let isSweeping = false;

async function sweepOnce(content: FileContent, space: KeySpace): Promise<void> {
  if (isSweeping) return;
  isSweeping = true;
  try {
    const isReferenced = naming(...space.named);
    await content.sweepOrphans({ isReferenced, extentsMax: 64 });
  } finally {
    isSweeping = false;
  }
}

/** Works until the process dies, or stops in order. */
async function live(disk: ModelDisk, space: KeySpace, random: SimRandom): Promise<void> {
  isSweeping = false;
  const process = disk.process(random, { fails: random.pick([0, 0, 0.01, 0.05]) });
  const died = process.dieAfter(random.between(1, 400));
  const working = async (): Promise<void> => {
    const content = await open(process, random);
    let left = random.between(1, 80);
    const isDone = (): boolean => (left -= 1) < 0;
    const working = () => work(content, space, { random, isDone });
    await Promise.all(Array.from({ length: workers }, working));
    await content.close();
  };
  await Promise.race([
    died,
    working().catch((error: unknown) => {
      if (!isMade(error)) throw error;
    }),
  ]);
  // What has got its last answer from the disk ends before the next life begins.
  for (let turns = 0; turns < 10; turns += 1) await turn();
}

async function settle(disk: ModelDisk, space: KeySpace, random: SimRandom): Promise<void> {
  const content = await open(disk.process(random, { fails: 0 }), random);
  await content.free(Array.from(space.notes));
  space.notes.clear();
  await sweep(content, naming(...space.named));
  for (const id of space.named) {
    assert.ok((await readAll(content, id)).equals(space.bytes.get(id) ?? Buffer.alloc(1)));
  }
  assert.equal(disk.count(), space.named.size);
  await content.close();
}

describe('content in files on a disk that loses power', () => {
  it(`keeps what is named and no orphan (seed ${seed})`, costly(), async () => {
    for (let round = 0; round < disks; round += 1) {
      const random = new SimRandom(seed + round);
      const disk = new ModelDisk();
      const space = new KeySpace();
      try {
        for (let life = 0; life < livesOfDisk; life += 1) {
          await live(disk, space, random);
          if (random.chance(0.7)) disk.losePower(random);
          if (life === livesOfDisk - 1 || random.chance(0.5)) await settle(disk, space, random);
        }
      } catch (error) {
        throw new Error(`seed ${seed}, disk ${round}`, { cause: error });
      }
    }
  });

  it('leaves no link without its owner, wherever it stops a removal', async () => {
    for (let operations = 0, isFreed = false; !isFreed; operations += 1) {
      // Enough losses that each choice of what is left happens.
      for (let loss = 0; loss < 16; loss += 1) {
        const left = await afterRemoval(operations, new SimRandom(loss));
        assert.deepEqual(left.names, ['1'], `${operations} operations, loss ${loss}`);
        isFreed = left.isFreed;
      }
    }
  });
});

/** What a sweep leaves of an extent and its link, which was being removed at a loss of power. */
async function afterRemoval(
  operations: number,
  random: SimRandom,
): Promise<{ readonly names: readonly string[]; readonly isFreed: boolean }> {
  const disk = new ModelDisk();
  const process = disk.process(random, { fails: 0 });
  const content = await open(process, random);
  const named = await content.put(piecesOf(sample(70_000)), Buffer.from('owner'));
  const linked = await content.link(named.id, Buffer.from('link'));
  content.confirm([named.id, linked.id]);
  const died = process.dieAfter(operations).then(() => false);
  const isFreed = await Promise.race([died, content.free([linked.id]).then(() => true)]);
  // Nothing looks at a session again that has ended in order.
  if (isFreed) {
    void process.dieAfter(Infinity);
    await content.close();
  }
  disk.losePower(random);
  const later = disk.process(random, { fails: 0 });
  const swept = await open(later, random);
  await sweep(swept, naming(named.id));
  await swept.close();
  const [session = ''] = named.id.split('-');
  return { names: await later.list(`extents/${session}/0`), isFreed };
}
