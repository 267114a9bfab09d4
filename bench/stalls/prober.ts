import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Another client of the server, in a process of its own. */
export interface Prober {
  /** The longest time since the call before that an answer has taken, in milliseconds. */
  longestMs(): Promise<number>;
  stop(): void;
}

/** Starts a client that asks for the health of a server again and again, on one connection. */
export async function startProber(port: number): Promise<Prober> {
  const script = fileURLToPath(new URL('prober-process.js', import.meta.url));
  const child = fork(script, [String(port)]);
  const next = (): Promise<number> =>
    new Promise((resolve, reject) => {
      child.once('message', (message) => resolve(Number(message)));
      child.once('exit', () => reject(new Error('The prober has ended.')));
    });
  await next();
  return {
    longestMs() {
      const answer = next();
      child.send('longest');
      return answer;
    },
    stop: () => child.kill(),
  };
}
