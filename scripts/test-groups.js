// Test files that may share a process. To start a process and load there what a file imports takes
// longer than the tests of most files.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Enough files that loading is paid a few times only, and enough groups for all processors. */
const filesInGroup = 45;

/** Where files test what a process may have twice, and do not load all of it by themselves. */
const sharedFolders = [
  /^(bench|src)\//,
  /^test\/[^/]+$/,
  /^test\/(compatibility|modeling|mutation|partition|power-loss|sim|wire)\//,
];

/**
 * What changes or measures a process, starts others, or is a hook of all tests of a process; and a
 * suite that waits, whose tests a group would take for its own (test-group-hooks.js).
 */
const needsOwnProcess = new RegExp(
  [
    String.raw`\bprocess\.(argv|chdir|cpuUsage|cwd|emit|env|exec|exit|kill|memoryUsage|off|on|pid|std|umask)`,
    'node:(child_process|v8|vm|worker_threads)',
    String.raw`/(cli-process|cli-server|crash-server)\.js'`,
    String.raw`^(void )?(before|beforeEach|afterEach)\(`,
    String.raw`\bdescribe\(.*, async `,
  ].join('|'),
  'm',
);

/**
 * The files to give to the runner: a file for each group, and the files that are in none.
 * @param {string} root the folder of the compiled files, in which the groups are written
 * @param {readonly string[]} files by their paths in the root, sorted
 */
export function grouped(root, files) {
  const folder = join(root, 'groups');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  const shared = files.filter((file) => mayShare(root, file));
  const groups = [];
  for (let from = 0; from < shared.length; from += filesInGroup) {
    const group = join(folder, `${String(groups.length + 1).padStart(2, '0')}.js`);
    writeFileSync(group, textOf(root, shared.slice(from, from + filesInGroup)));
    groups.push(group);
  }
  const alone = files.filter((file) => !shared.includes(file)).map((file) => join(root, file));
  return [...groups, ...alone];
}

function mayShare(root, file) {
  const isShared = sharedFolders.some((folder) => folder.test(file));
  return isShared && !needsOwnProcess.test(readFileSync(join(root, file), 'utf8'));
}

function textOf(root, files) {
  const gate = new URL('test-group-gate.js', import.meta.url).href;
  const addresses = files.map((file) => pathToFileURL(join(root, file)).href);
  return `import { loadGroup } from '${gate}';\nloadGroup(${JSON.stringify(addresses, null, 2)});\n`;
}
