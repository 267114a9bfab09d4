// Replays requests that were recorded at the cloud's table service, and compares what this server
// answers: `node test/interop/recordings/main.js FOLDER`. Fails on a difference that
// `known-differences.js` does not have, and on one that it has and that is gone.
import { differenceOf } from './comparison.js';
import { knownDifferences } from './known-differences.js';
import { readRecording, recordingFiles } from './recording.js';
import { replay } from './replay.js';

/** So few would mean that the folder is not what it should be. */
const requestsMin = 1_700;

const [folder] = process.argv.slice(2);
const known = new Map(knownDifferences.map((each) => [each.place, each]));
const seen = new Set();
const failures = [];
let requests = 0;

function shown(text) {
  return text.length <= 2_000 ? text : `${text.slice(0, 2_000)}…`;
}

function check(place, { method, path, answer: recorded }, answer) {
  requests += 1;
  const difference = differenceOf(recorded, answer);
  if (difference === undefined) return;
  seen.add(place);
  if (known.get(place)?.ours === difference.ours) return;
  const title = known.has(place) ? 'another difference than is known' : 'a new difference';
  failures.push(
    `${place} ${method} ${path}: ${title} (${difference.ours})\n` +
      `  the cloud    ${shown(difference.theirs)}\n  this server  ${shown(difference.shown)}`,
  );
}

const files = recordingFiles(folder);
for (const file of files) {
  const recording = readRecording(file);
  await replay(recording, (index, interaction, answer) =>
    check(`${recording.name}#${index}`, interaction, answer),
  );
}
for (const { place } of knownDifferences) {
  if (!seen.has(place)) failures.push(`${place}: is no difference any more; take it off the list`);
}
if (requests < requestsMin) failures.push(`${requests} requests; there should be ${requestsMin}`);
for (const failure of failures) process.stdout.write(`${failure}\n`);
process.stdout.write(
  `${files.length} recordings, ${requests} requests: ${requests - seen.size} answered with the ` +
    `same status, code and body, ${known.size} known to differ; ${failures.length} failures\n`,
);
process.exitCode = failures.length === 0 ? 0 : 1;
