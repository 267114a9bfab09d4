import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { WireClient } from '../wire/kit/client.js';

const program = fileURLToPath(new URL('../../../bin/tabularium.js', import.meta.url));
const startTimeoutMs = 60_000;

export interface ServerExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
}

/** The real program in a process of its own, which a test may end in any way. */
export class ServerProcess {
  readonly port: number;
  readonly #process: ChildProcess;
  readonly #exit: Promise<ServerExit>;

  private constructor(child: ChildProcess, port: number, exit: Promise<ServerExit>) {
    this.#process = child;
    this.port = port;
    this.#exit = exit;
  }

  /**
   * Starts the program on a data directory and a free port; resolves when it has printed where it
   * listens. `fileKiBMax` bounds the size of its files. Throws with its output when it ends instead.
   */
  static async start(
    location: string,
    options: { readonly fileKiBMax?: number; readonly flags?: readonly string[] } = {},
  ): Promise<ServerProcess> {
    const { fileKiBMax, flags = [] } = options;
    const args = [program, 'start', '--location', location, '--table-port', '0'];
    args.push('--log-level', 'error', ...flags);
    const child =
      fileKiBMax === undefined
        ? spawn(process.execPath, args)
        : spawn('bash', [
            '-c',
            `ulimit -f ${fileKiBMax}; exec "$0" "$@"`,
            process.execPath,
            ...args,
          ]);
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const exit = once(child, 'close').then(([code, signal]): ServerExit => {
      return { code: code as number | null, signal: signal as NodeJS.Signals | null, output };
    });
    const port = await new Promise<number>((resolve, reject) => {
      const timer = setTimeout(() => {
        child.kill('SIGKILL');
        reject(new Error(`no start within ${startTimeoutMs} ms:\n${output}`));
      }, startTimeoutMs);
      child.stdout.on('data', () => {
        const found = /Endpoint +http:\/\/[^:]+:(\d+)\//.exec(output)?.[1];
        if (found === undefined) return;
        clearTimeout(timer);
        resolve(Number(found));
      });
      child.once('close', (code, signal) => {
        clearTimeout(timer);
        reject(new Error(`the server ended with ${code ?? signal}:\n${output}`));
      });
    });
    return new ServerProcess(child, port, exit);
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  client(): WireClient {
    return new WireClient(this.port);
  }

  /** Sends a signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<ServerExit> {
    this.#process.kill(signal);
    return this.#exit;
  }
}
