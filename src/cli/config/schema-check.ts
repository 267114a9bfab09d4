import { mistakesIn } from '../../base/shape/check.js';
import { pathText, sentence, type Mistake } from '../../base/shape/mistake.js';
import type { Shape } from '../../base/shape/shape.js';
import { configShape } from '../../app/options/config-schema.js';
import { seedShape } from '../../app/seed/seed-shape.js';
import { UsageError } from '../terminal/failure.js';
import { printable } from '../terminal/terminal.js';
import type { StructuredFile } from './structured-file.js';

/** The published schemas, in the folder of that name. */
export type SchemaName = 'config' | 'seed';

const shapes: Readonly<Record<SchemaName, Shape>> = { config: configShape, seed: seedShape };

/**
 * Throws `UsageError` unless a file's value matches its schema. The message has one line per
 * problem: the position, what is allowed and a likely correction. It contains no secrets.
 */
export function checkSchema(schema: SchemaName, file: StructuredFile, value: unknown): void {
  const { shown, hidden } = mistakesIn(shapes[schema], value, 'file');
  if (shown.length === 0) return;
  const lines = new Set(shown.map((mistake) => problemOf(mistake, file)));
  if (hidden > 0) lines.add(`and ${hidden} more`);
  throw new UsageError([...lines].join('\n'));
}

function problemOf({ path, problem, unknownName }: Mistake, file: StructuredFile): string {
  const place =
    unknownName === undefined ? file.location(path) : file.location([...path, unknownName], 'name');
  return printable(`${place}: ${sentence(pathText(path, 'The file'), problem)}`);
}
