import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { signAccountSas } from '../../src/wire/auth/sas/sas-signature.js';
import type { ServerProcess } from '../server-process.js';
import { smallEntity } from './world.js';

/** What another client has observed since the last call. */
export interface Observation {
  /** The longest time that an answer has taken, in milliseconds. */
  readonly longestMs: number;
  /** How many requests got an error or no answer. */
  readonly refused: number;
}

/** Another client of the server, in a process of its own. */
export interface Prober {
  /** Returns and resets the observation. */
  observe(): Promise<Observation>;
  stop(): void;
}

/** Starts a client that reads one small entity again and again, on one connection. */
export async function startProber({ ports, target }: ServerProcess): Promise<Prober> {
  const script = fileURLToPath(new URL('prober-process.js', import.meta.url));
  const sas = signAccountSas(
    {
      version: '2021-12-02',
      services: 't',
      resourceTypes: 'o',
      permissions: 'r',
      expiry: '2099-01-01',
    },
    target.account,
  );
  const path = `/${target.account.name}${smallEntity}?${sas}`;
  const child = fork(script, [String(ports.table), path]);
  let refuse = (_reason: Error): void => {};
  child.once('exit', () => refuse(new Error('The other client has ended.')));
  const observe = (): Promise<Observation> =>
    new Promise((resolve, reject) => {
      refuse = reject;
      child.once('message', (message) => resolve(message as Observation));
      child.send('observe');
    });
  await observe();
  return { observe, stop: () => child.kill() };
}
