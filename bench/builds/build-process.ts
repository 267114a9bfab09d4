import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { WorkloadKind } from '../kinds.js';
import type { BuildsOptions } from './options.js';

/** One build under one kind of load, in a process that waits for requests to run a stretch. */
export interface BuildProcess {
  /** Microseconds of processor time per request, client and server together. */
  measure(requests: number): Promise<number>;
  /** Ends the process and removes its data. */
  stop(): Promise<void>;
}

const script = fileURLToPath(new URL('stretch-process.js', import.meta.url));

function answer(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null): void => {
      reject(new Error(`A measuring process ended with ${code}.`));
    };
    child.once('exit', onExit);
    child.once('message', (message) => {
      child.off('exit', onExit);
      resolve(Number(message));
    });
  });
}

/** Starts a server of a compiled repository, with the data of a kind of load. */
export async function startBuild(
  repository: string,
  kind: WorkloadKind,
  { connections, durability }: Pick<BuildsOptions, 'connections' | 'durability'>,
): Promise<BuildProcess> {
  const child = fork(script, [repository, kind, String(connections), durability], {
    execArgv: [],
    env: { ...process.env, NODE_ENV: 'production' },
  });
  await answer(child);
  return {
    measure(requests) {
      child.send(requests);
      return answer(child);
    },
    stop: () =>
      new Promise((resolve) => {
        if (child.exitCode !== null) return resolve();
        child.once('exit', () => resolve());
        child.disconnect();
      }),
  };
}
