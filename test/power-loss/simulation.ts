import { manualClock } from '../../src/base/clock.js';
import { SimRandom } from '../support/sim-random.js';
import { Ledger } from './ledger.js';
import { Life, type Without, type World } from './life.js';
import { ModelData } from './model-data.js';
import { ModelDisk } from './model-disk.js';

const livesMax = 4;
const momentsMax = 160;
/** A process that has not ended after this many moments is stuck. */
const endMomentsMax = 20_000;

export interface SimulationOptions {
  readonly seed: number;
  readonly without?: Without;
}

/** How often power was lost. */
export interface Simulated {
  readonly losses: number;
}

/**
 * Simulates several lives of a store in sequence. Most end by a loss of power at any moment, some
 * by a kill, after which the system keeps unsynced writes. The remaining disk must have everything
 * that was acknowledged, which the last life checks without interruption. Throws the first
 * violation.
 */
export async function simulate({ seed, without }: SimulationOptions): Promise<Simulated> {
  const random = new SimRandom(seed);
  const clock = manualClock();
  let serial = 0;
  const world: World = {
    random,
    disk: new ModelDisk(),
    data: await ModelData.empty(clock),
    ledger: new Ledger(),
    clock,
    without,
    nextSerial: () => (serial += 1),
  };
  const lives = random.between(1, livesMax);
  let losses = 0;
  let zombie: Life | undefined;
  for (let count = 0; count < lives; count += 1) {
    const life = new Life(world);
    begin(life, zombie, random);
    await live(life, zombie, world);
    zombie = undefined;
    const end = random.weighted({ loss: 7, kill: 2, close: 1, replacement: 1 });
    if (end === 'close' && life.isOpen) await closeOrDie(life, random);
    else if (end === 'replacement') {
      life.onlyCommit();
      zombie = life;
      continue;
    }
    if (end === 'kill') {
      await killInAWrite(life, world);
      continue;
    }
    life.kill();
    world.disk.losePower(random);
    await world.data.losePower(random);
    losses += 1;
  }
  await lookForGood(world, zombie);
  return { losses };
}

function begin(life: Life, before: Life | undefined, random: SimRandom): void {
  if (random.chance(0.1)) life.settle(before);
  else life.open(before);
}

async function live(life: Life, zombie: Life | undefined, { random }: World): Promise<void> {
  const moments = random.int(momentsMax);
  for (let moment = 0; moment < moments; moment += 1) {
    if (random.chance(0.5)) life.act();
    else await life.advance();
    if (zombie === undefined || random.chance(0.5)) continue;
    zombie.act();
    await zombie.advance();
  }
  zombie?.kill();
}

/** What matters of a kill is what the system has, and the disk does not. */
async function killInAWrite(life: Life, { disk, random }: World): Promise<void> {
  for (let moment = 0; moment < momentsMax && !disk.isWriting; moment += 1) {
    if (random.chance(0.5)) life.act();
    else await life.advance();
  }
  life.kill();
}

async function closeOrDie(life: Life, random: SimRandom): Promise<void> {
  const moments = random.chance(0.5) ? endMomentsMax : random.int(40);
  for (let moment = 0; moment < moments && !life.isIdle; moment += 1) await life.advance();
  if (!life.isIdle) return;
  life.close();
  for (let moment = 0; moment < moments && !life.isIdle; moment += 1) await life.advance();
}

/** A life without faults or interruption. */
async function lookForGood(world: World, zombie: Life | undefined): Promise<void> {
  const life = new Life(world, 'healthy');
  life.open(zombie);
  for (let moment = 0; !life.isIdle; moment += 1) {
    if (moment > endMomentsMax) throw new Error('the store does not open');
    await life.advance();
    await zombie?.advance();
  }
  life.kill();
  zombie?.kill();
}
