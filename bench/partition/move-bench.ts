import { monitorEventLoopDelay, type IntervalHistogram } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type { Store } from '../../src/kv/store.js';
import type { MoveStep } from '../../src/partition/rows.js';
import { median } from '../figures.js';
import { MoveLoad, p99, shown, valueBytes } from './move-load.js';
import { cutAt, keyOf, moveTo, spaceOver, withDirectories, type Durable } from './space.js';

const rows = 20_000;
/** Rows of one commit while the range is filled. */
const rowsEach = 100;
const partitions = 20;
/** Partitions from here on are in the range that moves; those before it in another one. */
const movedFrom = 10;
const megabytes = (rows * (1 - movedFrom / partitions) * valueBytes) / 1e6;
const movesAtRest = 7;
/** Between two moves under load. */
const quietMs = 500;
/** Looks each millisecond. */
const heldUp = { resolution: 1 } as const;

async function fill(store: Store): Promise<void> {
  const each = rows / partitions;
  for (let partition = 0; partition < partitions; partition += 1) {
    for (let from = 0; from < each; from += rowsEach) {
      const puts = Array.from({ length: rowsEach }, (_, at) => ({
        key: keyOf(partition, from + at),
        value: Buffer.alloc(valueBytes, at),
      }));
      await store.commit({ checks: [], puts, deletes: [] });
    }
  }
}

/** When each step of the last move began. */
class Steps {
  readonly #atMs = new Map<MoveStep, number>();

  note(step: MoveStep): void {
    this.#atMs.set(step, performance.now());
  }

  between(from: MoveStep, to: MoveStep): number {
    return (this.#atMs.get(to) ?? 0) - (this.#atMs.get(from) ?? 0);
  }
}

/** Half of the rows move from store to store, at rest and under load. */
async function benchOver(durable: Durable, moves: number): Promise<readonly string[]> {
  return withDirectories(2, durable, async (stores) => {
    const steps = new Steps();
    const space = await spaceOver(stores, (step) => steps.note(step));
    await cutAt(space, movedFrom);
    await fill(space.store);
    let at = 0;
    const move = () => moveTo(space, movedFrom, `s${(at += 1) % 2}`);
    const [copied, whole, cpu]: number[][] = [[], [], []];
    for (let count = 0; count < movesAtRest; count += 1) {
      const [beganMs, began] = [performance.now(), process.cpuUsage()];
      await move();
      const { user, system } = process.cpuUsage(began);
      cpu?.push((user + system) / 1_000 / megabytes);
      whole?.push((megabytes * 1_000) / (performance.now() - beganMs));
      copied?.push((megabytes * 1_000) / steps.between('copy', 'catch up'));
    }
    const load = new MoveLoad(space.store, { partitions, movedFrom, rows });
    const turns = { quiet: monitorEventLoopDelay(heldUp), moving: monitorEventLoopDelay(heldUp) };
    const running = load.run();
    const [writePauses, readPauses, tookMs]: number[][] = [[], [], []];
    for (let count = 0; count < moves; count += 1) {
      turns.quiet.enable();
      await pause(quietMs);
      turns.quiet.disable();
      load.isMoving = true;
      turns.moving.enable();
      const beganMs = performance.now();
      await move();
      tookMs?.push(performance.now() - beganMs);
      writePauses?.push(steps.between('fence', 'clean'));
      readPauses?.push(steps.between('close', 'clean'));
      load.isMoving = false;
      turns.moving.disable();
    }
    load.stop();
    await running;
    const { moved, others } = load.latencies;
    const ratio = (kind: 'writes' | 'reads') =>
      (p99(others.moving[kind]) / p99(others.quiet[kind])).toFixed(2);
    const middle = (values: readonly number[] = []) => median(values).toFixed(0);
    return [
      `${durable}, ${movesAtRest} moves of ${megabytes} MB at rest: ${middle(copied)} MB/s copied, ` +
        `${middle(whole)} MB/s with comparison and cleaning, ${middle(cpu)} ms of CPU a MB`,
      `${durable}, ${moves} moves under 1,000 writes/s and as many reads, ${middle(tookMs)} ms each:`,
      `  writes pause ${shown(writePauses ?? [])}`,
      `  reads pause ${shown(readPauses ?? [])}`,
      `  calls of the range: writes ${shown(moved.moving.writes)}; reads ${shown(moved.moving.reads)}`,
      `  others at rest: writes ${shown(others.quiet.writes)}; reads ${shown(others.quiet.reads)}`,
      `  others in moves: writes ${shown(others.moving.writes)}; reads ${shown(others.moving.reads)}`,
      `  the process is held up, p99: ${p99Ms(turns.quiet)} ms at rest, ${p99Ms(turns.moving)} ms in moves`,
      `  p99 of others: writes ${ratio('writes')} times, reads ${ratio('reads')} times`,
    ];
  });
}

function p99Ms(turns: IntervalHistogram): string {
  return (turns.percentile(99) / 1e6).toFixed(1);
}

/**
 * With a journal, as a server has by default, and without; also without syncs, which tells what of
 * the pauses of others are waits for the disk.
 */
export async function benchMove(moves: number): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const durable of ['journal', 'data file', 'no sync'] as const) {
    lines.push(...(await benchOver(durable, moves)));
  }
  return lines;
}
