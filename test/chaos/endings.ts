import { exitCodes } from '../../src/cli/start/process-end.js';
import type { ServerExit } from '../support/crash-server.js';
import { Finding } from './finding.js';

const stackLine = /^\s+at .*(\(|node:|file:|\/).*:\d+:\d+\)?$/m;
const shownMax = 2000;

/** The parts of a server's end that checks look at. */
export type Ending = Pick<ServerExit, 'code' | 'signal' | 'output'>;

/** It ended as it does after a stop signal, or with one of the exit codes given. */
export function assertStopped(ending: Ending, codes: readonly number[] = [0]): void {
  if (ending.signal !== null || !codes.includes(ending.code ?? -1)) {
    throw new Finding(`ended with ${shown(ending)}, not with ${codes.join(' or ')}`);
  }
  assertNoStack(ending);
}

/** Exit codes with a known reason. `broken` has none: it stands for an unexpected error. */
const clearCodes = new Set<number | null>([exitCodes.failed, 2, exitCodes.storeFailed]);

/**
 * Checks that it ended by itself and told what to do: a documented exit code, and a line that
 * begins with `error:` or is logged as an error.
 */
export function assertEndedClearly(ending: Ending): void {
  const hasCode = clearCodes.has(ending.code);
  const hasLine = /^error: .{20}|"level":[56]0,.*"msg":"/m.test(ending.output);
  if (ending.signal !== null || !hasCode || !hasLine) {
    throw new Finding(`ended without a clear message, with ${shown(ending)}`);
  }
  assertNoStack(ending);
}

/** A bare stack trace means that the error was not expected. */
function assertNoStack(ending: Ending): void {
  const own = ending.output.split('\n').filter((line) => !line.startsWith('{'));
  if (stackLine.test(own.join('\n'))) throw new Finding(`ended with a stack: ${shown(ending)}`);
}

export function shown({ code, signal, output }: Ending): string {
  return `${code ?? signal}:\n${output.slice(-shownMax)}`;
}
