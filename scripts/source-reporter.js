// What node's `spec` reporter prints, with places of compiled files as those of their sources. With
// --enable-source-maps every process of the tests would read the maps of all that it imports.
import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { relative } from 'node:path';
import { Readable } from 'node:stream';
import { spec } from 'node:test/reporters';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const compiled = new URL('../dist/', import.meta.url);
/** A place of a compiled file: as stacks write it, by a path, or below the working directory. */
const beginnings = [pathToFileURL(root).href, root].map(literally).join('|');
const place = new RegExp(`(?:${beginnings}|(?<![\\w./]))dist/([^\\s():]+\\.js):(\\d+):(\\d+)`, 'g');

/** By the path of the compiled file, as far as they were asked for. */
const maps = new Map();

function literally(text) {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&');
}

function mapOf(file) {
  const known = maps.get(file);
  if (known !== undefined) return known;
  const url = new URL(`${file}.map`, compiled);
  const map = existsSync(url) ? new SourceMap(JSON.parse(readFileSync(url, 'utf8'))) : null;
  maps.set(file, map);
  return map;
}

function sourcePlace(shown, file, line, column) {
  const { originalSource, originalLine, originalColumn } =
    mapOf(file)?.findEntry(Number(line) - 1, Number(column) - 1) ?? {};
  if (originalSource === undefined) return shown;
  const source = fileURLToPath(new URL(originalSource, new URL(file, compiled)));
  return `${relative(root, source)}:${originalLine + 1}:${originalColumn + 1}`;
}

// oxlint-disable-next-line import/no-default-export -- the runner takes nothing else
export default async function* report(events) {
  for await (const text of Readable.from(events).pipe(new spec())) {
    yield String(text).replaceAll(place, sourcePlace);
  }
}
