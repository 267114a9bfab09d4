import type { CliProcess } from '../cli-process.js';
import { startCli } from '../cli-server.js';
import { ServerProcess, type ServerProcessOptions } from '../crash-server.js';
import { Faults, type FaultRule } from './faults.js';

export interface FaultyServer extends AsyncDisposable {
  readonly server: ServerProcess;
  readonly faults: Faults;
}

/** The program, with faults from its start on. It is killed in the end. */
export async function startWithFaults(
  location: string,
  options: ServerProcessOptions & { readonly rules?: readonly FaultRule[] } = {},
): Promise<FaultyServer> {
  const faults = await Faults.make();
  try {
    faults.set(...(options.rules ?? []));
    const env = { ...options.env, ...faults.env };
    const server = await ServerProcess.start(location, { ...options, env });
    return {
      server,
      faults,
      async [Symbol.asyncDispose]() {
        faults.clear();
        await server.end('SIGKILL');
        await faults[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await faults[Symbol.asyncDispose]();
    throw error;
  }
}

/** The same for tests of the process itself: its output, signals and exit code. */
export async function startCliWithFaults(
  args: readonly string[],
): Promise<AsyncDisposable & { readonly server: CliProcess; readonly faults: Faults }> {
  const faults = await Faults.make();
  const server = await startCli(args, { env: faults.env });
  return {
    server,
    faults,
    async [Symbol.asyncDispose]() {
      faults.clear();
      server.child.kill('SIGKILL');
      await server.result;
      await faults[Symbol.asyncDispose]();
    },
  };
}
