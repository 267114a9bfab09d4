import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { shimPath } from './shim.js';

// The layout of the control file, as faults.c maps it.
const rulesMax = 16;
const ruleBytes = 512;
const headerBytes = 512;
const tableBytes = rulesMax * ruleBytes;
const pathOffset = 56;
const pathBytesMax = 447;
const seenOffset = 32;

/** The bits of `enum call`. A function and its variants, such as pwrite64, are one call. */
const callBits = {
  open: 1,
  write: 2,
  writev: 4,
  pwrite: 8,
  pwritev: 16,
  fsync: 32,
  fdatasync: 64,
  msync: 128,
  ftruncate: 256,
  rename: 512,
  unlink: 1024,
  mkdir: 2048,
} as const;

export type FaultCall = keyof typeof callBits;

/** All calls that write bytes; LMDB writes pages by `pwrite` and `writev`, Node by all of them. */
export const writeCalls: readonly FaultCall[] = ['write', 'writev', 'pwrite', 'pwritev'];
export const syncCalls: readonly FaultCall[] = ['fsync', 'fdatasync', 'msync'];

/**
 * The fault: the call is only counted; it fails; it is delayed, at most until the next `set`; or
 * its process is killed before it, after it, or after half of its bytes.
 */
export type FaultAction =
  | { readonly kind: 'count' }
  | { readonly kind: 'fail'; readonly error: keyof typeof constants.errno }
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'end'; readonly when: 'before' | 'after' | 'halfway' };

export interface FaultRule {
  readonly calls: readonly FaultCall[];
  /**
   * A part of the path: as passed to `open`, the new one of `rename`, or that of an open file;
   * sockets and pipes have paths such as `socket:[7]`. Does not apply to `msync`.
   */
  readonly path: string;
  readonly action: FaultAction;
  /** Counts only calls of this process; all by default. */
  readonly pid?: number;
  /** How many matching calls pass before the first fault; 0 by default. */
  readonly after?: number;
  /** Only each nth of the following calls has the fault; 1 by default. */
  readonly every?: number;
  /** The maximum number of faults; unlimited by default. */
  readonly times?: number;
}

/** Of one rule since it was set: matching calls of all processes, and those with the fault. */
export interface FaultCount {
  readonly seen: number;
  readonly hit: number;
}

/**
 * Faults of system calls in processes that a test starts with `env`, and in their children. Linux
 * with a C compiler: see `withoutFaults`. Rules can be changed at any time and hold from the next
 * call on; the first rule that matches and does more than count or delay decides.
 *
 * ```ts
 * await using faults = await Faults.make();
 * const server = await ServerProcess.start(location, { env: faults.env });
 * faults.set({ calls: writeCalls, path: 'data.mdb', action: { kind: 'fail', error: 'ENOSPC' } });
 * await faults.hit();
 * faults.clear();
 * ```
 */
export class Faults implements AsyncDisposable {
  /** The environment for the processes. */
  readonly env: Readonly<Record<string, string>>;
  readonly #folder: string;
  readonly #file: number;
  #current = 0;
  #count = 0;

  private constructor(folder: string, control: string, shim: string) {
    this.#folder = folder;
    this.#file = openSync(control, 'r+');
    // io_uring would bypass the functions of libc.
    this.env = { LD_PRELOAD: shim, TABULARIUM_TEST_FAULTS: control, UV_USE_IO_URING: '0' };
  }

  static async make(): Promise<Faults> {
    const shim = await shimPath();
    const folder = await mkdtemp(join(tmpdir(), 'tabularium-faults-'));
    const control = join(folder, 'control');
    await writeFile(control, Buffer.alloc(headerBytes + 2 * tableBytes));
    return new Faults(folder, control, shim);
  }

  /** Replaces all rules at once and resets their counts. */
  set(...rules: readonly FaultRule[]): void {
    if (rules.length > rulesMax) throw new Error(`${rules.length} rules, ${rulesMax} at most`);
    const next = this.#current + 1;
    const table = Buffer.concat(rules.map(ruleBytesOf), rules.length * ruleBytes);
    writeSync(this.#file, Buffer.concat([table], tableBytes), 0, tableBytes, tableAt(next));
    const header = Buffer.alloc(4);
    header.writeUInt32LE(next);
    writeSync(this.#file, header, 0, header.length, 0);
    this.#current = next;
    this.#count = rules.length;
  }

  /** Removes all rules; delayed calls continue. */
  clear(): void {
    this.set();
  }

  /** The counts of the current rules, in order. */
  counts(): readonly FaultCount[] {
    const table = Buffer.alloc(tableBytes);
    readSync(this.#file, table, 0, tableBytes, tableAt(this.#current));
    return Array.from({ length: this.#count }, (_, index) => {
      const at = index * ruleBytes + seenOffset;
      return {
        seen: Number(table.readBigUInt64LE(at)),
        hit: Number(table.readBigUInt64LE(at + 8)),
      };
    });
  }

  /** Resolves when the rule at `index` has made this many faults; rejects on timeout. */
  async hit(times = 1, index = 0, timeoutMs = 180_000): Promise<void> {
    const end = performance.now() + timeoutMs;
    while ((this.counts()[index]?.hit ?? 0) < times) {
      if (performance.now() > end) {
        throw new Error(
          `rule ${index} did not hit ${times} calls: ${JSON.stringify(this.counts())}`,
        );
      }
      await pause(5);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.clear();
    closeSync(this.#file);
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function tableAt(generation: number): number {
  return headerBytes + (generation % 2) * tableBytes;
}

function ruleBytesOf(rule: FaultRule): Buffer {
  const { calls, path, action, pid = 0, after = 0, every = 1, times = 0 } = rule;
  const bytes = Buffer.alloc(ruleBytes);
  if (calls.length === 0) throw new Error('a rule without calls');
  if (Buffer.byteLength(path) > pathBytesMax) throw new Error(`too long: ${path}`);
  const { code, error = 0, delayMs = 0 } = actionFields(action);
  bytes.writeUInt32LE(
    calls.reduce((bits, call) => bits | callBits[call], 0),
    0,
  );
  bytes.writeUInt32LE(code, 4);
  bytes.writeInt32LE(error, 8);
  bytes.writeUInt32LE(delayMs, 12);
  bytes.writeInt32LE(pid, 16);
  bytes.writeUInt32LE(after, 20);
  bytes.writeUInt32LE(every, 24);
  bytes.writeUInt32LE(times, 28);
  bytes.write(path, pathOffset);
  return bytes;
}

/** In the numbering of `enum action`. */
function actionFields(action: FaultAction): {
  readonly code: number;
  readonly error?: number;
  readonly delayMs?: number;
} {
  if (action.kind === 'count') return { code: 0 };
  if (action.kind === 'fail') return { code: 1, error: constants.errno[action.error] };
  if (action.kind === 'delay') return { code: 2, delayMs: action.ms };
  return { code: { before: 3, after: 4, halfway: 5 }[action.when] };
}
