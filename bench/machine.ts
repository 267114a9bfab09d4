import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { ticksPerSecond } from './server-process.js';

/** A moment of a measurement, with the processor time used up to it, in seconds. */
export interface Moment {
  readonly wallSeconds: number;
  /** Processor time of the whole machine; absent where the system does not tell. */
  readonly machineSeconds: number | undefined;
  /** Processor time of the server and of the load. */
  readonly ownSeconds: number | undefined;
}

/**
 * Processor time of everything that runs on a machine, and what its host took from it, out of
 * `/proc/stat`.
 */
export function busySecondsIn(stat: string): number {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] =
    /^cpu +(?<ticks>[\d ]+)$/m.exec(stat)?.groups?.['ticks']?.split(' ').map(Number) ?? [];
  return (user + nice + system + irq + softirq + steal) / ticksPerSecond;
}

export function momentOf(serverSeconds: number | undefined): Moment {
  const { user, system } = process.cpuUsage();
  const own = serverSeconds === undefined ? undefined : serverSeconds + (user + system) / 1e6;
  return {
    wallSeconds: performance.now() / 1000,
    machineSeconds: machineSeconds(),
    ownSeconds: own,
  };
}

function machineSeconds(): number | undefined {
  try {
    return busySecondsIn(readFileSync('/proc/stat', 'utf8'));
  } catch {
    // As with the usage of processes: elsewhere than on Linux nothing is known.
    return undefined;
  }
}

/** The share of the machine that other work took between two moments. */
export function othersShare(from: Moment, to: Moment, cores = cpus().length): number | undefined {
  if (from.machineSeconds === undefined || to.machineSeconds === undefined) return undefined;
  if (from.ownSeconds === undefined || to.ownSeconds === undefined) return undefined;
  const others = to.machineSeconds - from.machineSeconds - (to.ownSeconds - from.ownSeconds);
  return Math.max(0, others) / ((to.wallSeconds - from.wallSeconds) * cores);
}
