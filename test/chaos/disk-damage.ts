import { copyFile, cp, open, rename, rm, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { readEverything } from '../crash/inspect.js';
import type { SeenState } from '../crash/ledger.js';
import { crashQueue } from '../crash/queue-load.js';
import { StartFailure } from '../support/crash-server.js';
import type { SimRandom } from '../support/sim-random.js';
import { assertEndedClearly, assertStopped } from './endings.js';
import { eventually, Finding, within } from './finding.js';
import type { Outcome, Scenario } from './scenario.js';
import { untroubled, World } from './world.js';

// Damage to a data directory by people and hardware.

const deviceFull = '/dev/full';
const skip = process.platform === 'linux' ? false : 'needs /dev/full, and to rename files in use';
const troubled = { breaks: 'end', failures: 'unanswered' } as const;

interface Contents {
  readonly state: SeenState;
  readonly messages: number;
  /** What blobs hold, in the order of their names; undefined for those that there are not. */
  readonly blobs: readonly (Buffer | undefined)[];
}

async function contentsOf(world: World): Promise<Contents> {
  const [table, queue, client] = [world.tableClient(), world.queueClient(), world.blobClient()];
  try {
    const state = await within('everything is read', readEverything(table), 120_000);
    const messages = await queue.count(crashQueue);
    const blobs: (Buffer | undefined)[] = [];
    for (const { path } of world.blobs.flat()) {
      const { status, body } = await client.send({ path });
      if (![200, 404].includes(status)) throw new Error(`${path}: answered ${status}`);
      blobs.push(status === 200 ? body : undefined);
    }
    return { state, messages, blobs };
  } finally {
    table.close();
    queue.close();
    client.close();
  }
}

type Damage = (file: string, random: SimRandom) => Promise<void>;

const truncated: Damage = async (file, random) => {
  const { size } = await stat(file);
  await truncate(file, random.pick([0, 1, 4096, random.int(size), size - 1, size - 8192]));
};

async function overwrite(file: string, at: number, bytes: (old: Buffer) => Buffer, count: number) {
  const handle = await open(file, 'r+');
  try {
    const old = Buffer.alloc(count);
    await handle.read(old, 0, count, at);
    await handle.write(bytes(old), 0, count, at);
  } finally {
    await handle.close();
  }
}

const bitFlips: Damage = async (file, random) => {
  const { size } = await stat(file);
  const count = random.pick([1, 1, 8, 100]);
  for (let flip = 0; flip < count; flip += 1) {
    const bit = 1 << random.int(8);
    const at = random.chance(0.1) ? random.int(Math.min(size, 16_384)) : random.int(size);
    await overwrite(file, at, (old) => Buffer.from([(old[0] ?? 0) ^ bit]), 1);
  }
};

const overwritten: Damage = async (file, random) => {
  const { size } = await stat(file);
  const count = random.pick([512, 4096, 8192, 65_536]);
  const fill = random.chance(0.5) ? Buffer.alloc(count) : random.bytes(count);
  await overwrite(file, 512 * random.int(Math.max(1, (size - count) / 512)), () => fill, count);
};

/**
 * Damage to the file of a stopped server. The server must serve correct data or none: it refuses to
 * start, reads fail, or the process ends, each with a message. With the old file everything is as
 * before.
 */
function damaged(damage: Damage) {
  return async (random: SimRandom): Promise<Outcome> => {
    await using world = await World.make(random);
    await world.loadFor(300);
    await world.settle();
    const before = await contentsOf(world);
    await world.stop();
    const file = join(world.location, 'data.mdb');
    await copyFile(file, world.beside('backup'));
    await damage(file, random);
    const outcome = await readDamaged(world, before);
    await copyFile(world.beside('backup'), file);
    await world.start();
    await world.settle();
    return outcome;
  };
}

async function readDamaged(world: World, before: Contents): Promise<Outcome> {
  try {
    await world.tryStart();
  } catch (error) {
    if (!(error instanceof StartFailure)) throw new Finding(String(error), { cause: error });
    assertEndedClearly(error.exit);
    return 'ends clearly';
  }
  let after: Contents | undefined;
  try {
    after = await contentsOf(world);
  } catch (error) {
    if (error instanceof Finding) throw error;
    const ended = await Promise.race([world.server.exit, pause(1000)]);
    if (ended !== undefined) assertEndedClearly(ended);
    else if (
      !/answered 5\d\d|expected 200, got 5|500|503|without a whole answer/.test(String(error))
    )
      throw new Finding(String(error));
  }
  if (after !== undefined && !isDeepStrictEqual(after, before)) {
    throw new Finding(`damage went unnoticed: ${difference(before, after)}`);
  }
  await world.kill();
  return after === undefined ? 'ends clearly' : 'goes on';
}

function difference(before: Contents, after: Contents): string {
  const lost = [...before.state.rows].filter(([id]) => !after.state.rows.has(id)).length;
  const changed = [...after.state.rows].filter(
    ([id, row]) => !isDeepStrictEqual(row, before.state.rows.get(id)),
  ).length;
  const tables = `${after.state.tables.length} of ${before.state.tables.length} tables`;
  const messages = `${after.messages} of ${before.messages} messages`;
  const blobs = before.blobs.filter((each, at) => !isDeepStrictEqual(each, after.blobs[at])).length;
  return `${lost} rows lost, ${changed} wrong, ${tables}, ${messages}, ${blobs} blobs wrong`;
}

/** The directory of a running server goes away, and sometimes another one takes its place. */
function moved(kind: 'renamed' | 'removed' | 'replaced') {
  return async (random: SimRandom): Promise<Outcome> => {
    await using world = await World.make(random, { workers: random.chance(0.3) ? 2 : 1 });
    await world.loadFor(100);
    const load = world.beginLoad(troubled);
    const elsewhere = world.beside('elsewhere');
    if (kind === 'removed') await rm(world.location, { recursive: true, force: true });
    else await rename(world.location, elsewhere);
    if (kind === 'replaced') {
      // The socket of the owner cannot be copied.
      const filter = (path: string) => !path.endsWith('.sock');
      await cp(elsewhere, world.location, { recursive: true, filter });
    }
    let isOver = false;
    const exit = world.server.exit.then((ended) => {
      isOver = true;
      return ended;
    });
    const notices = async () => isOver || !(await world.isHealthy());
    await eventually(`a ${kind} directory is noticed`, notices);
    await load.end();
    if (!isOver) {
      await assertRefusesWrites(world);
      world.server.signal('SIGTERM');
    }
    const ending = await within('a server without directory ends', exit);
    if (isOver && ending.code !== 0) assertEndedClearly(ending);
    else assertStopped(ending, [0, 1]);
    await world.assertNobodyLeft();
    if (kind !== 'removed') {
      await rm(world.location, { recursive: true, force: true });
      await rename(elsewhere, world.location);
    }
    await world.start();
    if (kind === 'removed') await world.becomesHealthy();
    else await world.settle();
    return 'ends clearly';
  };
}

/** Checks that no write is acknowledged: each fails, or gets no response. */
async function assertRefusesWrites(world: World): Promise<void> {
  const client = world.tableClient();
  try {
    const body = '{"TableName":"nowhere"}';
    const status = await client.send({ method: 'POST', path: '/Tables', body }).then(
      (answer) => answer.status,
      () => 0,
    );
    if (status !== 0 && status < 500) throw new Finding(`a write into nothing: ${status}`);
  } finally {
    client.close();
  }
}

/** A log file on a disk that is full from the start. */
async function fullLog(random: SimRandom): Promise<Outcome> {
  const isDebugFile = random.chance(0.5);
  const workers = random.chance(0.3) ? 2 : 1;
  const flags = ['--log-level', 'debug'];
  await using world = await World.make(
    random,
    isDebugFile ? { workers } : { workers, flags, logTo: deviceFull },
  );
  if (isDebugFile) {
    await world.stop();
    try {
      await world.tryStart(['--debug', deviceFull]);
    } catch (error) {
      // The server may also refuse a log file that it cannot write.
      if (!(error instanceof StartFailure)) throw new Finding(String(error), { cause: error });
      assertEndedClearly(error.exit);
      await world.start();
      await world.settle();
      return 'ends clearly';
    }
  }
  await world.whileServing(async () => {
    const load = world.beginLoad(untroubled);
    await pause(random.between(200, 800));
    await load.end();
    await world.settle();
  });
  await world.restart();
  await world.settle();
  return 'goes on';
}

const runs = {
  renamed: moved('renamed'),
  removed: moved('removed'),
  replaced: moved('replaced'),
  truncated: damaged(truncated),
  'bit-flips': damaged(bitFlips),
  overwritten: damaged(overwritten),
  'full-log': fullLog,
};

export const diskDamageScenarios: readonly Scenario[] = Object.entries(runs).map(([name, run]) => {
  return { area: 'disk', name, skip, run };
});
