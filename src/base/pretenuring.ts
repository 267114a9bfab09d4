import { setFlagsFromString } from 'node:v8';

/**
 * From now on V8 allocates every new object of this process in the young generation.
 *
 * By default it allocates the objects of an expression in the old generation once most of them have
 * survived there, as those of requests that wait for the disk do. Each of them then keeps all
 * that it refers to alive until the next full collection: every scavenge copies the requests that
 * have ended since the one before. `docs/internals/benchmark.md` has what that costs.
 *
 * The flag is one of the process, so only a program sets it that has the process to itself.
 * Compiled code keeps what was decided before.
 */
export function allocateInYoungGeneration(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
}
