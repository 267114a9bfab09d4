// Runs programs written with the official clients of several languages against this server, and
// replays recordings of the cloud: `npm run test:interop [language… | recordings]`. Each language
// gets servers of its own. A language whose runtime is not there is left out and named, unless it
// was asked for. The first run of a language needs its package index, which may fail once.
import { go } from './go.js';
import { java } from './java.js';
import { javascript } from './javascript.js';
import { python } from './python.js';
import { recordingsOfCloud } from './recordings.js';
import { rust } from './rust.js';
import { startServers } from './server.js';

const languages = [javascript, python, go, java, rust, recordingsOfCloud];

/** The languages to run: those named, or all of them. */
function chosen(names) {
  const unknown = names.find((name) => languages.every((each) => each.name !== name));
  if (unknown !== undefined) {
    const known = languages.map(({ name }) => name).join(', ');
    process.stderr.write(`There are no interop tests in '${unknown}'; there are: ${known}.\n`);
    process.exit(1);
  }
  return names.length === 0 ? languages : languages.filter(({ name }) => names.includes(name));
}

/** `passed`, `failed…`, or why it was left out. */
async function outcomeOf(language, wasNamed) {
  const missing = language.missing();
  if (missing !== undefined) return `${wasNamed ? 'failed' : 'left out'}: ${missing}`;
  process.stdout.write(`\n── ${language.name}: ${language.clients.join(', ')}\n`);
  if (!language.prepare() && !language.prepare()) {
    return 'failed: its clients could not be fetched; is the package index out of reach?';
  }
  const servers = await startServers();
  try {
    const code = await language.run({ ...process.env, ...servers.settings });
    return code === 0 ? 'passed' : 'failed';
  } finally {
    await servers.close();
  }
}

const names = process.argv.slice(2);
const outcomes = new Map();
for (const language of chosen(names)) {
  outcomes.set(language.name, await outcomeOf(language, names.length > 0));
}
process.stdout.write('\nPrograms of the official clients:\n');
for (const [name, outcome] of outcomes) process.stdout.write(`  ${name.padEnd(12)}${outcome}\n`);
process.exitCode = [...outcomes.values()].some((outcome) => outcome.startsWith('failed')) ? 1 : 0;
