import { closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { destination, pino, type Logger } from 'pino';
import { makeDirectory } from '../../base/make-directory.js';
import { loggerOfPino, type ServerOptions } from '../../app/index.js';
import { CommandFailure, messageOf } from '../failure.js';
import { requestLogger } from './request-log.js';
import type { StartFlags } from './options.js';

/** The log of a process that serves, or that watches those that do. */
export interface StartLog {
  readonly log: Logger;
  /** What a server needs to write into it. */
  readonly options: Required<Pick<ServerOptions, 'logger' | 'observers'>>;
  /** Writes out what waits to be written; for the end of the process. */
  readonly flush: () => void;
}

/** `fields` are in every line. Throws `CommandFailure` when the file cannot be written. */
export function openStartLog(
  { debug, logLevel, silent }: StartFlags,
  fields: Readonly<Record<string, unknown>> | null = null,
): StartLog {
  if (debug !== undefined) checkLogFile(debug);
  const output = destination(
    debug === undefined ? { fd: 2, sync: false } : { dest: debug, sync: false, append: true },
  );
  const level = debug === undefined ? logLevel : 'debug';
  const timestamp = pino.stdTimeFunctions.isoTime;
  const log = pino({ level, base: fields, timestamp }, output);
  return {
    log,
    options: {
      logger: loggerOfPino(log),
      observers: silent === true ? [] : [requestLogger(log)],
    },
    flush: () => output.flushSync(),
  };
}

/** Makes the file: who opens it later has nobody to tell that it cannot be opened. */
function checkLogFile(file: string): void {
  try {
    makeDirectory(dirname(file));
    closeSync(openSync(file, 'a'));
  } catch (error) {
    throw new CommandFailure(
      `The log file ${file} of --debug cannot be written: ${messageOf(error)}`,
    );
  }
}
