import { partitionRows } from '../dataset.js';

/** The kinds of load for an engine. */
export const engineKinds = ['commit-one', 'commit', 'get', 'range', 'scan'] as const;
export type EngineKind = (typeof engineKinds)[number];

/** The engines that implement `Store`. */
export const storeNames = ['memory', 'lmdb', 'lmdb-relaxed', 'journal', 'journal-drained'] as const;
export type StoreName = (typeof storeNames)[number];

/** Also a bare file and a server of `node:http`, which store nothing. */
export const engineNames = [...storeNames, 'journal-file', 'http'] as const;
export type EngineName = (typeof engineNames)[number];

export function isStoreName(name: EngineName): name is StoreName {
  return storeNames.some((store) => store === name);
}

export function titleOf(kind: EngineKind, callers: number): string {
  const titles: Readonly<Record<EngineKind, string>> = {
    'commit-one': 'commit of a row, one writer',
    commit: `commit of a row, ${callers} writers`,
    get: `get, ${callers} readers`,
    range: `range of ${rangeRows}, ${callers} readers`,
    scan: `scan of ${partitionRows}, 1 % match, ${callers} readers`,
  };
  return titles[kind];
}

/** Callers at work at a time. */
export function callersOf(kind: EngineKind, callers: number): number {
  return kind === 'commit-one' ? 1 : callers;
}

export const rangeRows = 100;
export const valueBytes = 700;

/** What is measured, in a process of its own for each engine. */
export interface EnginePlan {
  readonly rows: number;
  /** Unmeasured time before each measurement: code is compiled in it. */
  readonly warmupMs: number;
  readonly seconds: number;
  readonly callers: number;
  readonly kinds: readonly EngineKind[];
}

/** One engine under one kind. */
export interface EngineMeasurement {
  readonly engine: EngineName;
  readonly kind: EngineKind;
  readonly opsPerSecond: number;
  /** Processor time of all threads. */
  readonly cpuMicros: number | undefined;
  readonly p50Ms: number;
  readonly p99Ms: number;
}
