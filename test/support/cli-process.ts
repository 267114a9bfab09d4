import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once, type EventEmitter } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

/** The program that users run. */
export const cliProgram = fileURLToPath(new URL('../../../bin/tabularium.js', import.meta.url));

export interface CliOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly input?: string;
  /** Options for node itself. */
  readonly nodeArgs?: readonly string[];
}

export interface CliResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command line in its own process. */
export class CliProcess {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly result: Promise<CliResult>;
  #stdout = '';
  #stderr = '';

  constructor(args: readonly string[], { env = {}, cwd, input, nodeArgs = [] }: CliOptions = {}) {
    const { PATH = '' } = process.env;
    this.child = spawn(process.execPath, [...nodeArgs, cliProgram, ...args], {
      cwd,
      env: { PATH, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.child.stdout.on('data', (chunk) => (this.#stdout += String(chunk)));
    this.child.stderr.on('data', (chunk) => (this.#stderr += String(chunk)));
    this.child.stdin.on('error', () => undefined);
    if (input !== undefined) this.child.stdin.end(input);
    this.result = this.#ended();
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  /**
   * Resolves when the process has printed the text this many times in all; rejects when it ends
   * earlier.
   */
  async printed(text: string, times = 1): Promise<void> {
    const isPrinted = (): boolean =>
      `${this.#stdout}${this.#stderr}`.split(text).length - 1 >= times;
    while (!isPrinted()) {
      const over = new AbortController();
      const more = (stream: EventEmitter): Promise<unknown> =>
        once(stream, 'data', { signal: over.signal }).catch(() => undefined);
      const next = Promise.race([
        more(this.child.stdout),
        more(this.child.stderr),
        this.result.then(() => 'ended' as const),
      ]);
      const news = await next.finally(() => over.abort());
      if (news === 'ended' && !isPrinted()) {
        throw new Error(`ended without printing '${text}':\n${this.#stdout}${this.#stderr}`);
      }
    }
  }

  async #ended(): Promise<CliResult> {
    const [code, signal] = (await once(this.child, 'close')) as [
      number | null,
      NodeJS.Signals | null,
    ];
    return { code, signal, stdout: this.#stdout, stderr: this.#stderr };
  }
}

/** Runs one command line until it ends. */
export function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return new CliProcess(args, { input: '', ...options }).result;
}
