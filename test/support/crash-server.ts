import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { WireClient } from '../wire/kit/client.js';
import { BlobWireClient } from '../wire/kit/blob-client.js';
import { QueueWireClient } from '../wire/kit/queue-client.js';

const program = fileURLToPath(new URL('../../../bin/tabularium.js', import.meta.url));
const startTimeoutMs = 180_000;

/**
 * The environment of a server whose clocks run so many times faster than the machine's. Clients may
 * be fifteen minutes behind it.
 */
export function fastClockEnv(factor: number): Readonly<Record<string, string>> {
  const module = new URL('fast-clock.js', import.meta.url).href;
  const options = [process.env['NODE_OPTIONS'], `--import=${module}`];
  return {
    NODE_OPTIONS: options.filter((option) => option !== undefined).join(' '),
    TABULARIUM_TEST_CLOCK_FACTOR: String(factor),
  };
}

interface Ports {
  readonly table: number;
  readonly queue: number;
  readonly blob: number;
}

export interface ServerExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
}

export interface ServerProcessOptions {
  /** Limits the size of its files. */
  readonly fileKiBMax?: number;
  readonly flags?: readonly string[];
  /** A file that standard error is appended to, instead of to the output of the exit. */
  readonly logTo?: string;
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The program ended instead of listening. */
export class StartFailure extends Error {
  override readonly name = 'StartFailure';
  readonly exit: ServerExit;

  constructor(exit: ServerExit) {
    super(`the server ended with ${exit.code ?? exit.signal}:\n${exit.output}`);
    this.exit = exit;
  }
}

/** The real program in its own process, which a test may end in any way. */
export class ServerProcess {
  /** The port of the table service. */
  readonly port: number;
  readonly queuePort: number;
  readonly blobPort: number;
  readonly #process: ChildProcess;
  readonly #output: () => string;
  /** Resolves with the output when it has ended. */
  readonly exit: Promise<ServerExit>;

  private constructor(
    child: ChildProcess,
    ports: Ports,
    { exit, output }: { readonly exit: Promise<ServerExit>; readonly output: () => string },
  ) {
    this.#process = child;
    this.port = ports.table;
    this.queuePort = ports.queue;
    this.blobPort = ports.blob;
    this.exit = exit;
    this.#output = output;
  }

  /**
   * Starts the program on a data directory and free ports; resolves when it has printed its
   * endpoints. Rejects with `StartFailure` when it ends instead.
   */
  static async start(location: string, options: ServerProcessOptions = {}): Promise<ServerProcess> {
    const { fileKiBMax, flags = [] } = options;
    const env = { ...process.env, ...options.env };
    const log = options.logTo === undefined ? undefined : openSync(options.logTo, 'a');
    const stdio: StdioOptions = ['pipe', 'pipe', log ?? 'pipe'];
    const args = [program, 'start', '--location', location, '--table-port', '0'];
    args.push('--queue-port', '0', '--blob-port', '0', '--log-level', 'error', ...flags);
    const child =
      fileKiBMax === undefined
        ? spawn(process.execPath, args, { env, stdio })
        : spawn(
            'bash',
            ['-c', `ulimit -f ${fileKiBMax}; exec "$0" "$@"`, process.execPath, ...args],
            { env, stdio },
          );
    let output = '';
    if (log !== undefined) closeSync(log);
    child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const exit = once(child, 'close').then(([code, signal]): ServerExit => {
      return { code: code as number | null, signal: signal as NodeJS.Signals | null, output };
    });
    const ports = await new Promise<Ports>((resolve, reject) => {
      const timer = setTimeout(() => {
        child.kill('SIGKILL');
        reject(new Error(`no start within ${startTimeoutMs} ms:\n${output}`));
      }, startTimeoutMs);
      child.stdout?.on('data', () => {
        const printed = portsPrinted(output);
        if (printed === undefined) return;
        clearTimeout(timer);
        resolve(printed);
      });
      const fail = (failed: ServerExit): void => {
        clearTimeout(timer);
        reject(new StartFailure(failed));
      };
      void exit.then(fail);
    });
    return new ServerProcess(child, ports, { exit, output: () => output });
  }

  /** That of the control API; 0 without one. */
  get controlPort(): number {
    return Number(/Control +http:\/\/127\.0\.0\.1:(\d+)/.exec(this.#output())?.[1] ?? 0);
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  client(): WireClient {
    return new WireClient(this.port);
  }

  queueClient(): QueueWireClient {
    return new QueueWireClient(this.queuePort);
  }

  blobClient(): BlobWireClient {
    return new BlobWireClient(this.blobPort);
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** Sends a signal and resolves when the process has ended. */
  end(signal: NodeJS.Signals): Promise<ServerExit> {
    this.#process.kill(signal);
    return this.exit;
  }
}

function portsPrinted(output: string): Ports | undefined {
  const portOf = (label: string): string | undefined =>
    new RegExp(`${label} +https?://[^:]+:(\\d+)/`).exec(output)?.[1];
  const [table, queue, blob] = [portOf('Tables'), portOf('Queues'), portOf('Blobs')];
  if (table === undefined || queue === undefined || blob === undefined) return undefined;
  return { table: Number(table), queue: Number(queue), blob: Number(blob) };
}
