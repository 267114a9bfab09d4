import { isMap, isNode, isScalar, LineCounter, parseDocument, type Document } from 'yaml';
import { FileReadError, readRegularFile } from '../../base/regular-file.js';
import { messageOf, UsageError } from '../terminal/failure.js';
import { printable } from '../terminal/terminal.js';
import { shapeMistake, tooDeep } from './document-shape.js';

/** Names of members and positions in arrays, from the outermost value inwards. */
export type MemberPath = readonly (string | number)[];

/** The position of a value in a file: `file:line:column`. */
export type LocationOf = (path: MemberPath) => string;

/** A parsed YAML or JSON file with the positions of its values. */
export interface StructuredFile {
  readonly name: string;
  readonly document: Document;
  /** The file is empty, without even a comment. */
  readonly isEmpty: boolean;
  /** The position of a value, or of the innermost existing one on its path: `file:line:column`. */
  location(path: MemberPath, what?: 'value' | 'name'): string;
}

/**
 * Reads a file of YAML or JSON, which is a subset of YAML. Throws `UsageError`, which names the
 * file and the position, when it cannot be read or is malformed.
 */
export async function readStructuredFile(name: string, bytesMax: number): Promise<StructuredFile> {
  const text = await readText(name, bytesMax);
  const lines = new LineCounter();
  // Duplicate keys are checked below: the package compares each with all others.
  const options = { lineCounter: lines, prettyErrors: false, uniqueKeys: false };
  const document = withinStack(name, () => parseDocument(text, options));
  const at = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${name}:${line}:${col}`;
  };
  const [problem] = [...document.errors, ...document.warnings];
  if (problem !== undefined) {
    const isTooDeep = isStackEnd(problem.message);
    const text = isTooDeep ? tooDeep : `${printable(problem.message)}.`;
    throw new UsageError(`${at(problem.pos[0])}: ${text}`);
  }
  const mistake = shapeMistake(document);
  if (mistake !== undefined) throw new UsageError(`${at(mistake.offset)}: ${mistake.message}`);
  return {
    name,
    document,
    isEmpty: text.trim() === '',
    location: (path, what = 'value') => at(offsetOf(document, path, what)),
  };
}

/** The plain value of a document. Throws `UsageError` when its aliases expand without limit. */
export function plainValue({ name, document }: StructuredFile): unknown {
  try {
    return withinStack(name, () => document.toJS({ maxAliasCount: 100 }) as unknown);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${name}: ${printable(messageOf(error))}.`);
  }
}

/** Runs recursive work; a stack overflow is reported as a mistake of the file. */
function withinStack<Result>(name: string, run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    if (!isStackEnd(messageOf(error))) throw error;
    throw new UsageError(`${name}: ${tooDeep}`);
  }
}

/**
 * The stack overflow message of the JavaScript engine, which the package reports as a mistake of
 * the text.
 */
function isStackEnd(message: string): boolean {
  return message.includes('Maximum call stack size exceeded');
}

/** The text of a small file that is read whole. Throws `UsageError`. */
export async function readText(name: string, bytesMax: number): Promise<string> {
  try {
    return (await readRegularFile(name, bytesMax)).toString('utf8').replace(/^\ufeff/, '');
  } catch (error) {
    if (!(error instanceof FileReadError)) throw error;
    if (error.problem === 'absent') throw new UsageError(`There is no file ${name}.`);
    throw new UsageError(`${error.message}.`);
  }
}

function offsetOf(document: Document, path: MemberPath, what: 'value' | 'name'): number {
  const named = what === 'name' ? nameOffset(document, path) : undefined;
  if (named !== undefined) return named;
  for (let length = path.length; length >= 0; length--) {
    const node = nodeAt(document, path.slice(0, length));
    if (isNode(node) && node.range) return node.range[0];
  }
  return 0;
}

function nameOffset(document: Document, path: MemberPath): number | undefined {
  const parent = nodeAt(document, path.slice(0, -1));
  if (!isMap(parent)) return undefined;
  const name = String(path.at(-1));
  for (const { key } of parent.items) {
    if (isScalar(key) && String(key.value) === name) return key.range?.[0];
  }
  return undefined;
}

function nodeAt(document: Document, path: MemberPath): unknown {
  return path.length === 0 ? document.contents : document.getIn(path, true);
}
