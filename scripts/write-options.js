// Writes what is made of the table of options: the published schemas, and the tables of the pages
// about configuration. With --check it changes nothing, and fails when something is not as it would
// write it. Needs a build.
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { publishedSchemas } from '../dist/src/app/options/config-schema.js';
import { optionPages } from '../dist/test/support/option-pages.js';

const root = fileURLToPath(new URL('../', import.meta.url));
const isCheck = process.argv.includes('--check');

/** The page with other tables between the marks of their names. */
function withTables(page, tables) {
  return Object.entries(tables).reduce((text, [name, table]) => {
    const [begin, end] = [`<!-- options: ${name} -->`, '<!-- options end -->'];
    const from = text.indexOf(begin);
    const to = text.indexOf(end, from);
    if (from < 0 || to < 0) throw new Error(`a page has no place for the table '${name}'`);
    return `${text.slice(0, from + begin.length)}\n\n${table}\n\n${text.slice(to)}`;
  }, page);
}

async function formatted(file, text) {
  return format(text, { ...(await resolveConfig(file)), filepath: file });
}

const current = (file) => readFile(file, 'utf8').catch(() => '');

/** @type {[file: string, write: () => Promise<string>][]} */
const texts = [];
for (const [name, schema] of Object.entries(publishedSchemas)) {
  texts.push([`schemas/${name}.schema.json`, async () => JSON.stringify(schema(), null, 2)]);
}
for (const [file, tables] of Object.entries(optionPages)) {
  texts.push([file, async () => withTables(await current(`${root}${file}`), tables())]);
}

for (const [file, write] of texts) {
  const path = `${root}${file}`;
  const text = await formatted(path, await write());
  if (text === (await current(path))) continue;
  if (isCheck) {
    process.exitCode = 1;
    console.log(`${file} is not as the table of options says: run npm run options`);
  } else {
    await writeFile(path, text);
    console.log(`wrote ${file}`);
  }
}
