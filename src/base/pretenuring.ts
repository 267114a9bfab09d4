import { setFlagsFromString } from 'node:v8';

/**
 * From now on V8 allocates every new object of this process in the young generation.
 *
 * By default V8 counts how many objects of an expression survive. When most do, such as those of
 * requests that wait for the disk, it allocates the next ones in the old generation. Each of them
 * keeps all that it refers to alive until the next full collection, so every scavenge copies the
 * requests that have ended. `docs/internals/benchmark.md` tells the cost.
 *
 * The flag affects the whole process, so only a program that owns its process may set it. Code that
 * is compiled already keeps its former allocation.
 */
export function allocateInYoungGeneration(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
}
