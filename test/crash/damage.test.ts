import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { byLength, costly } from '../support/run-length.js';
import { systemClock } from '../../src/base/clock.js';
import { DataDirectoryError } from '../../src/engines/lmdb/directory/data-directory-error.js';
import { openLmdbStore, type LmdbStore } from '../../src/engines/lmdb/store.js';
import { temporaryLocation } from '../support/engine-lmdb.js';
import { SimRandom } from '../support/sim-random.js';
import { numberSetting, seedSetting } from '../support/sim-settings.js';

// How to repeat and to run longer: docs/internals/correctness.md.

const seed = seedSetting('TABULARIUM_DAMAGE_SEED');
const rounds = numberSetting('TABULARIUM_DAMAGE_ROUNDS', byLength({ short: 40, long: 1000 }));
const pageBytes = 8192;

type Rows = Map<string, string>;

function open(directory: string): Promise<LmdbStore> {
  return openLmdbStore({ directory, clock: systemClock, durability: 'relaxed' });
}

/** Small and large values, keys long enough for three levels, and pages that were freed again. */
async function fill(directory: string): Promise<Rows> {
  const rows: Rows = new Map();
  const random = new SimRandom(7);
  const store = await open(directory);
  for (let round = 0; round < 30; round += 1) {
    const puts = Array.from({ length: 40 }, () => {
      const key = `${random.between(0, 700)} ${'k'.repeat(random.between(1, 900))}`;
      const bytes = random.chance(0.03) ? 30_000 : random.between(0, 400);
      return [key, `${random.between(0, 1e9)}`.padEnd(bytes, 'v')] as const;
    });
    const gone = [...rows.keys()].filter(() => random.chance(0.02));
    for (const key of gone) rows.delete(key);
    const kept = new Map(puts.filter(([key]) => !gone.includes(key)));
    for (const [key, value] of kept) rows.set(key, value);
    await store.commit({
      checks: [],
      puts: Array.from(kept, ([key, value]) => ({
        key: Buffer.from(key),
        value: Buffer.from(value),
      })),
      deletes: gone.map((key) => Buffer.from(key)),
    });
  }
  await store.close();
  return rows;
}

/** Damage as disks, copies and people cause it. */
function damage(
  intact: Buffer,
  random: SimRandom,
): { readonly what: string; readonly bytes: Buffer } {
  const bytes = Buffer.from(intact);
  const pages = bytes.length / pageBytes;
  const page = random.chance(0.2) ? random.between(0, 1) : random.between(0, pages - 1);
  const at = page * pageBytes;
  switch (random.between(0, 5)) {
    case 0: {
      const left = random.between(0, bytes.length - 1);
      return { what: `truncated to ${left}`, bytes: bytes.subarray(0, left) };
    }
    case 1:
      return { what: `page ${page} zeroed`, bytes: bytes.fill(0, at, at + pageBytes) };
    case 2: {
      const from = random.between(0, pages - 1) * pageBytes;
      intact.copy(bytes, at, from, from + pageBytes);
      return { what: `page ${page} overwritten by page ${from / pageBytes}`, bytes };
    }
    case 3: {
      const length = random.between(1, 5_000);
      for (let index = 0; index < length; index += 1) bytes[at + index] = random.between(0, 255);
      return { what: `${length} random bytes in page ${page}`, bytes };
    }
    default: {
      // Damage at the beginning of a page affects the most.
      const within = random.chance(0.5) ? random.between(0, 200) : random.between(0, pageBytes - 1);
      const bit = random.between(0, 7);
      bytes[at + within] = (bytes[at + within] ?? 0) ^ (1 << bit);
      return { what: `bit ${bit} of byte ${within} of page ${page} flipped`, bytes };
    }
  }
}

async function readAll(store: LmdbStore): Promise<Rows> {
  const rows: Rows = new Map();
  const { entries } = await store.range({ start: Buffer.alloc(0) }, { limit: 1e6, bytesMax: 1e9 });
  for (const { key, value } of entries) rows.set(String(key), String(value));
  return rows;
}

it(
  `serves all rows of a damaged file, or none with a reason (${rounds} times, seed ${seed})`,
  costly(),
  async (t) => {
    const { directory, remove } = await temporaryLocation();
    t.after(remove);
    const expected = await fill(directory);
    const file = join(directory, 'data.mdb');
    const intact = await readFile(file);
    const random = new SimRandom(seed);
    let refused = 0;
    for (let round = 0; round < rounds; round += 1) {
      const { what, bytes } = damage(intact, random);
      await writeFile(file, bytes);
      const store = await open(directory).catch((error: unknown) => {
        assert.ok(
          error instanceof DataDirectoryError && error.reason === 'damaged',
          `${what}: ${String(error)}`,
        );
        assert.match(error.message, /data\.mdb is damaged: .* Restore a backup/);
        return undefined;
      });
      if (store === undefined) {
        refused += 1;
        continue;
      }
      try {
        assert.deepEqual(await readAll(store), expected, what);
        for (const key of [...expected.keys()].slice(0, 20)) {
          assert.equal(String((await store.get(Buffer.from(key)))?.value), expected.get(key), what);
        }
        const puts = [{ key: Buffer.from('new'), value: Buffer.from('row') }];
        assert.equal((await store.commit({ checks: [], puts, deletes: [] })).ok, true, what);
        assert.equal((await readAll(store)).size, expected.size + 1, what);
      } finally {
        await store.close();
      }
    }
    t.diagnostic(`${refused} of ${rounds} were refused`);
    assert.ok(refused > rounds / 4);
  },
);
