import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { signAccountSas } from '../../src/wire/auth/sas/sas-signature.js';
import type { ServerProcess } from '../server-process.js';
import { smallEntity } from './world.js';

/** Another client of the server, in a process of its own. */
export interface Prober {
  /** The longest time since the call before that an answer has taken, in milliseconds. */
  longestMs(): Promise<number>;
  stop(): void;
}

/** Starts a client that reads one small entity again and again, on one connection. */
export async function startProber({ ports, target }: ServerProcess): Promise<Prober> {
  const script = fileURLToPath(new URL('prober-process.js', import.meta.url));
  const sas = signAccountSas(
    {
      kind: 'account-sas',
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
  const next = (): Promise<number> =>
    new Promise((resolve, reject) => {
      refuse = reject;
      child.once('message', (message) => resolve(Number(message)));
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
