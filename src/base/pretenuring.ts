import { setFlagsFromString } from 'node:v8';

/**
 * From now on V8 allocates every new object of this process in the young generation.
 *
 * By default it looks at how many of the objects that an expression makes survive, as those of
 * requests that wait for the disk do; when most do, it makes the next ones in the old generation.
 * Each of them keeps all that it refers to alive until the next full collection, so every scavenge
 * copies the requests that have ended. `docs/internals/benchmark.md` has what that costs.
 *
 * The flag is one of the process, so only a program sets it that has the process to itself.
 * Compiled code keeps what was decided before.
 */
export function allocateInYoungGeneration(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
}
