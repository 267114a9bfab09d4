import { Readable, Writable } from 'node:stream';
import { runCommandLine } from '../../src/cli/command-line.js';
import type { CliResult } from './cli-process.js';
import type { HostedCommand } from './command-host.js';

// A process that runs command lines in sequence, as if each had its own process.

/** Collects what is written to it. */
class Output extends Writable {
  readonly #chunks: Buffer[] = [];

  get text(): string {
    return Buffer.concat(this.#chunks).toString();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#chunks.push(chunk);
    done();
  }
}

function replaceStreams(stdin: Readable, stdout: Output, stderr: Output): void {
  for (const [name, value] of Object.entries({ stdin, stdout, stderr })) {
    Object.defineProperty(process, name, { value, configurable: true });
  }
}

function replaceEnvironment(environment: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, environment);
}

const home = process.cwd();

async function resultOf({ args, cwd, env, input }: HostedCommand): Promise<CliResult> {
  const [stdout, stderr] = [new Output(), new Output()];
  replaceStreams(Readable.from(input === '' ? [] : [Buffer.from(input)]), stdout, stderr);
  replaceEnvironment(env);
  process.chdir(cwd ?? home);
  process.exitCode = 0;
  await runCommandLine([process.execPath, 'tabularium', ...args], () => undefined);
  const code: number = process.exitCode;
  // Handlers of commands that normally end with their process.
  for (const signal of ['SIGINT', 'SIGTERM']) process.removeAllListeners(signal);
  process.exitCode = 0;
  return { code, signal: null, stdout: stdout.text, stderr: stderr.text };
}

process.on('message', (command: HostedCommand) => {
  void resultOf(command).then((result) => process.send?.(result));
});
process.on('disconnect', () => process.exit());
