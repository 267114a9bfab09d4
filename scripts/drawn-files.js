// The files of which a run of all tests has a part, drawn anew each time: those of the modelling
// library over a whole server, and those that crash, simulate and attack for long.
import { createHash } from 'node:crypto';

const folders =
  /^test\/(browser|chaos|crash|fuzz|journal-reader|linearizability|modeling|partition|power-loss|sim)\//;

/**
 * Half of the files that are drawn from, by the seed of a run, and those that are left out.
 * @param {readonly string[]} files by their paths in the folder of compiled files
 * @param {string} seed
 * @returns {{ drawn: string[], others: string[] }} `drawn` has all other files as well
 */
export function drawnFiles(files, seed) {
  const from = files
    .filter((file) => folders.test(file))
    .toSorted(by((file) => hashOf(`${seed} ${file}`)));
  const others = new Set(from.slice(Math.ceil(from.length / 2)));
  return {
    drawn: files.filter((file) => !others.has(file)),
    others: files.filter((file) => others.has(file)),
  };
}

function by(keyOf) {
  return (left, right) => (keyOf(left) < keyOf(right) ? -1 : 1);
}

function hashOf(text) {
  return createHash('sha256').update(text).digest('hex');
}
