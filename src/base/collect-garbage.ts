import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { invariant } from './invariant.js';

/** Collects all garbage now. Finalisers of native objects run some turns later. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  invariant(typeof collect === 'function', 'the flag makes the function');
  collect();
}
