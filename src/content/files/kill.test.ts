import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ChildMessage } from '../../../test/support/content/content-child.js';
import { countFiles } from '../../../test/support/content/temporary-content.js';
import { byLength, costly } from '../../../test/support/run-length.js';
import { SimRandom } from '../../../test/support/sim-random.js';
import { seedSetting } from '../../../test/support/sim-settings.js';
import { systemClock } from '../../base/clock.js';
import { unreachable } from '../../base/invariant.js';
import { systemRandomness } from '../../base/randomness.js';
import { naming, readAll, sample, sweep } from '../conformance/samples.js';
import type { ExtentId } from '../content-store.js';
import { contentFolder } from './content-directory.js';
import { openFileContent } from './content.js';

const seed = seedSetting('TABULARIUM_CONTENT_SEED');
const rounds = byLength({ short: 3, long: 40 });
const program = fileURLToPath(
  new URL('../../../test/support/content/content-child.js', import.meta.url),
);

/** The key space of processes that are killed. */
class KeySpace {
  readonly named = new Map<ExtentId, Buffer>();
  readonly notes = new Set<ExtentId>();
  readonly #random: SimRandom;

  constructor(random: SimRandom) {
    this.#random = random;
  }

  answer(message: ChildMessage): readonly ExtentId[] {
    switch (message.kind) {
      case 'name':
        this.named.set(message.id, sample(message.bytes, message.seed));
        return [];
      case 'link': {
        const bytes = this.named.get(message.from) ?? this.#freed.get(message.from);
        assert.ok(bytes !== undefined);
        this.named.set(message.id, bytes);
        return [];
      }
      case 'unname': {
        const picked = this.#pick();
        if (picked === undefined) return [];
        this.#freed.set(picked, this.named.get(picked) ?? Buffer.alloc(0));
        this.named.delete(picked);
        this.notes.add(picked);
        return [picked];
      }
      case 'freed':
        this.notes.delete(message.id);
        return [];
      case 'pick': {
        const picked = this.#pick();
        return picked === undefined ? [] : [picked];
      }
      case 'named':
        return message.ids.filter((id) => this.named.has(id));
      default:
        return unreachable(message);
    }
  }

  readonly #freed = new Map<ExtentId, Buffer>();

  #pick(): ExtentId | undefined {
    return this.named.size === 0 ? undefined : this.#random.pick(Array.from(this.named.keys()));
  }
}

interface Started {
  readonly child: ChildProcess;
  /** Resolves when it has begun to work. */
  readonly begun: Promise<unknown>;
}

function start(directory: string, childSeed: number, space: KeySpace): Started {
  const child = fork(program, [directory, String(childSeed)]);
  child.on('message', (message: ChildMessage & { readonly number: number }) => {
    const ids = space.answer(message);
    // It may have been killed meanwhile.
    if (child.connected) child.send({ number: message.number, ids }, () => undefined);
  });
  return { child, begun: once(child, 'message') };
}

async function kill(child: ChildProcess): Promise<void> {
  const closed = Promise.all([once(child, 'exit'), once(child, 'disconnect')]);
  child.kill('SIGKILL');
  await closed;
}

it(
  `keeps what is named and no orphan when processes are killed (seed ${seed})`,
  costly(),
  async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'tabularium-content-'));
    t.after(() => rm(directory, { recursive: true, force: true }));
    const random = new SimRandom(seed);
    const space = new KeySpace(random);
    let most = 0;
    for (let round = 0; round < rounds; round += 1) {
      // Two at a time, of which each sweeps what earlier ones have left.
      const children = [0, 1].map((at) => start(directory, seed + 2 * round + at, space));
      for (const { child, begun } of children) {
        await begun;
        await pause(random.between(100, 500));
        await kill(child);
      }
      most = Math.max(most, space.named.size);
      const options = { clock: systemClock, randomness: systemRandomness };
      const content = await openFileContent({ directory, ...options });
      await content.free(Array.from(space.notes));
      space.notes.clear();
      await sweep(content, naming(...space.named.keys()));
      for (const [id, bytes] of space.named) assert.ok((await readAll(content, id)).equals(bytes));
      assert.equal(await countFiles(join(directory, contentFolder)), space.named.size);
      await content.close();
    }
    t.diagnostic(`${most} extents at most over ${rounds} rounds`);
    assert.ok(most > 0);
  },
);
