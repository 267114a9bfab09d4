import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { CliOptions, CliResult } from './cli-process.js';

export interface HostedCommand {
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly input: string;
}

const program = fileURLToPath(new URL('./command-host-child.js', import.meta.url));

/**
 * Runs command lines in sequence in one process, for tests of what commands do and print. Tests of
 * the process itself use `runCli`: start and end, signals, closed pipes, several at once, and
 * `start`, which does not end.
 */
class CommandHost {
  #child: ChildProcess | undefined;
  #last: Promise<unknown> = Promise.resolve();

  run(args: readonly string[], options: Omit<CliOptions, 'nodeArgs'>): Promise<CliResult> {
    assert.notEqual(args[0], 'start', 'a server needs a process of its own');
    const result = this.#last.then(() => this.#carriedOut(args, options));
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #carriedOut(args: readonly string[], options: CliOptions): Promise<CliResult> {
    const child = (this.#child ??= spawned());
    const { PATH = '' } = process.env;
    const { cwd, env = {}, input = '' } = options;
    const command: HostedCommand = { args, cwd, env: { PATH, ...env }, input };
    child.ref();
    child.channel?.ref();
    child.send(command);
    const over = new AbortController();
    const listening = { signal: over.signal };
    const ended = once(child, 'exit', listening).then(
      () => assert.fail(`ended by: ${args.join(' ')}`),
      () => new Promise<never>(() => undefined),
    );
    const answer = once(child, 'message', listening);
    answer.catch(() => undefined);
    const [result] = (await Promise.race([answer, ended]).finally(() => over.abort())) as [
      CliResult,
    ];
    child.unref();
    child.channel?.unref();
    return result;
  }
}

/** The child ends with this process. */
function spawned(): ChildProcess {
  return fork(program, { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
}

const host = new CommandHost();

/** Runs one command line to its end in a process that several share. */
export function runCommand(
  args: readonly string[],
  options: Omit<CliOptions, 'nodeArgs'> = {},
): Promise<CliResult> {
  return host.run(args, options);
}
