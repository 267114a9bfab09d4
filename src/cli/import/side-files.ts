import { createReadStream, type Stats } from 'node:fs';
import { open, stat, type FileHandle } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { codeOf, CommandFailure, messageOf, UsageError } from '../terminal/failure.js';

/** The longest first line that is examined, in bytes. */
const firstLineBytesMax = 1024 * 1024;

/**
 * Resolves the path of an output file, which must not be one of the inputs under any name or link.
 * Throws `UsageError`.
 */
export async function requireOtherFile(path: string, flag: string, input: string): Promise<void> {
  if (input === '-') return;
  const [own, read] = await Promise.all([factsOf(path), factsOf(input)]);
  if (own === undefined || read === undefined) return;
  if (own.dev === read.dev && own.ino === read.ino) {
    throw new UsageError(
      `${flag} ${path} is ${input}, which would be overwritten. Name another file.`,
    );
  }
}

/** Throws `UsageError` when the file is not an errors file of an import. */
export async function requireErrorsFile(path: string): Promise<void> {
  const facts = await factsOf(path);
  if (facts?.isDirectory() === true) throw new UsageError(`--errors ${path} is a directory.`);
  if (facts === undefined || !facts.isFile() || facts.size === 0) return;
  if (isRefusal(await firstLine(path))) return;
  throw new UsageError(
    `--errors ${path} holds something else than refused rows, which would be lost. ` +
      'Name another file, or remove it.',
  );
}

/**
 * Opens the errors file to append to it. Throws `CommandFailure` when it cannot be written: refused
 * rows would be lost.
 */
export async function openErrorsFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'a');
  } catch (error) {
    throw new CommandFailure(
      `--errors ${path} cannot be written, and nothing was imported: ${messageOf(error)}`,
    );
  }
}

/** Forgets the rows of an earlier import. Pipes and devices hold none. */
export async function emptyErrorsFile(file: FileHandle | undefined): Promise<void> {
  if (file !== undefined && (await file.stat()).isFile()) await file.truncate();
}

async function factsOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw new CommandFailure(`${path} cannot be looked at: ${messageOf(error)}`);
  }
}

async function firstLine(path: string): Promise<string> {
  const input = createReadStream(path, { end: firstLineBytesMax - 1 });
  try {
    for await (const line of createInterface({ input })) return line;
    return '';
  } catch (error) {
    throw new CommandFailure(`${path} cannot be read: ${messageOf(error)}`);
  } finally {
    input.destroy();
  }
}

function isRefusal(line: string): boolean {
  try {
    const { line: number, code, message }: Record<string, unknown> = JSON.parse(line);
    return typeof number === 'number' && typeof code === 'string' && typeof message === 'string';
  } catch {
    return false;
  }
}
