// Parts of the long forms of the tests that take about the same time each. A part depends on the
// names of the files and on the table below, and on nothing else: the same source has the same
// parts anywhere.

/**
 * Seconds of processor time of the long forms that take most of it. Estimates: what they are is
 * good for parts of similar length, and a test finds names of files that are gone.
 */
const secondsOf = {
  'src/cli/start/config': 30,
  'src/cli/start/process-end': 30,
  'src/cli/start/workers/workers': 25,
  'src/content/files/content': 30,
  'src/content/files/kill': 40,
  'src/content/files/power-loss': 115,
  'src/engines/journal/merged-range': 30,
  'src/engines/journal/store': 120,
  'src/engines/lmdb/store': 110,
  'src/engines/lmdb/start-failure': 25,
  'src/engines/memory/store': 30,
  'src/placement/systems/official-clients.extras': 30,
  'src/services/blobs/append-blobs': 60,
  'src/services/blobs/blob-crashes': 25,
  'src/services/blobs/blob-model': 130,
  'src/services/blobs/find': 30,
  'src/services/blobs/item-walk': 40,
  'src/services/blobs/page-blobs-model': 60,
  'src/services/blobs/versions-model': 180,
  'src/services/containers/containers-model': 30,
  'src/services/tables/entity-range': 30,
  'src/services/tables/query': 60,
  'test/chaos/chaos': 400,
  'test/crash/blob-kill': 90,
  'test/crash/copy-points': 150,
  'test/crash/damage': 25,
  'test/crash/kill': 115,
  'test/crash/leftovers': 30,
  'test/crash/queue-kill': 50,
  'test/crash/signals': 35,
  'test/fuzz/blobs': 100,
  'test/fuzz/fuzz': 200,
  'test/fuzz/modes': 60,
  'test/linearizability/blobs': 30,
  'test/linearizability/linearizability': 70,
  'test/modeling/azurite-examples.long.extras': 60,
  'test/modeling/index-crashes': 40,
  'test/modeling/index-interleavings': 30,
  'test/modeling/index-operations': 200,
  'test/modeling/indexed-table': 40,
  'test/modeling/large-entities': 60,
  'test/modeling/model-matrix/changing-shards': 100,
  'test/modeling/model-matrix/encryption': 130,
  'test/modeling/model-matrix/everything': 70,
  'test/modeling/model-matrix/large-values': 130,
  'test/modeling/model-matrix/nothing': 120,
  'test/modeling/model-matrix/shard-map': 130,
  'test/modeling/pattern-examples': 70,
  'test/modeling/re-keying-races': 40,
  'test/modeling/shard-map-races': 60,
  'test/modeling/shard-operations': 135,
  'test/partition/conformance': 60,
  'test/partition/simulation': 60,
  'test/power-loss/power-loss': 75,
  'test/sim/queue-processes': 60,
  'test/sim/queue-races': 80,
  'test/sim/queue-simulation': 35,
  'test/sim/simulation': 100,
  'test/wire/auth/sas-two-worlds': 30,
  'test/wire/blobs/list-order': 80,
};
const secondsOfOthers = 6;

/** The files of the table, as paths below the folder of compiled files. */
export const weighedFiles = Object.keys(secondsOf).map((name) => `${name}.test.js`);

/**
 * The files of part `part` of `parts`, counted from 1, in the given order.
 * @param {readonly string[]} files by their paths in the folder of compiled files
 */
export function filesOfPart(files, part, parts) {
  const loads = Array.from({ length: parts }, () => ({ seconds: 0, files: new Set() }));
  // The longest first, each to the part that has least so far.
  for (const file of files.toSorted(longerFirst)) {
    const least = loads.reduce((best, load) => (load.seconds < best.seconds ? load : best));
    least.seconds += secondsFor(file);
    least.files.add(file);
  }
  return files.filter((file) => loads[part - 1].files.has(file));
}

/** `2/8` as `{ part: 2, parts: 8 }`; undefined when there is no such part. */
export function parsePart(text) {
  const [, part, parts] = /^(\d+)\/(\d+)$/.exec(text)?.map(Number) ?? [];
  return part >= 1 && part <= parts && parts <= partsMax ? { part, parts } : undefined;
}

/** More parts than there are files are none. */
const partsMax = 100;

function longerFirst(left, right) {
  return secondsFor(right) - secondsFor(left) || (left < right ? -1 : 1);
}

function secondsFor(file) {
  return secondsOf[file.slice(0, -'.test.js'.length)] ?? secondsOfOthers;
}
