import { SourceMap, type SourceMapping, type SourceMapPayload } from 'node:module';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashOf } from './executed.js';

/** The location of a source offset in the compiled module. */
export interface CompiledLocation {
  /** Relative to `dist`. */
  readonly module: string;
  /** The hash of the module's text. */
  readonly hash: string;
  readonly offset: number;
}

/** Looks up a source offset in the source map of a compiled file. */
export function compiledLocation(
  root: string,
  file: string,
  sourceOffset: number,
): CompiledLocation {
  const module = file.replace(/\.ts$/, '.js');
  const text = readFileSync(join(root, 'dist', module), 'utf8');
  const payload = readFileSync(join(root, 'dist', `${module}.map`), 'utf8');
  const map = new SourceMap(JSON.parse(payload) as SourceMapPayload);
  const before = readFileSync(join(root, file), 'utf8').slice(0, sourceOffset).split('\n');
  const line = before.length - 1;
  const column = (before.at(-1) ?? '').length;
  let offset = 0;
  let nearest = { offset: 0, line: -1, column: -1 };
  for (const [generatedLine, generated] of text.split('\n').entries()) {
    for (let index = 0; index < generated.length; index += 1) {
      const entry = map.findEntry(generatedLine, index) as Partial<SourceMapping>;
      const { originalLine = -1, originalColumn = -1, generatedColumn } = entry;
      if (entry.generatedLine !== generatedLine || generatedColumn !== index) continue;
      const isBefore = originalLine < line || (originalLine === line && originalColumn <= column);
      const isNearer =
        originalLine > nearest.line ||
        (originalLine === nearest.line && originalColumn > nearest.column);
      if (isBefore && isNearer) {
        nearest = { offset: offset + index, line: originalLine, column: originalColumn };
      }
    }
    offset += generated.length + 1;
  }
  return { module, hash: hashOf(text), offset: nearest.offset };
}
