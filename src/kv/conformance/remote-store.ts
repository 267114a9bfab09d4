import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { invariant } from '../../base/invariant.js';
import { GuardError } from '../errors.js';
import type { MemberStore } from '../member-store.js';
import type { RangeSample } from '../sample.js';
import type { CommitResult, Entry, RangePage, Store } from '../store.js';
import type { SpawnedStore } from './suite.js';

type Method = keyof MemberStore;
type Call = (...parameters: readonly unknown[]) => Promise<unknown>;

interface Request {
  readonly id: number;
  readonly method: Method;
  readonly parameters: readonly unknown[];
}

interface Refusal {
  readonly id: number;
  readonly error: string;
  /** The version that a `GuardError` carries. */
  readonly guard?: number | 'absent';
}

type Response = { readonly id: number; readonly result: unknown } | Refusal;

/** In the child: answers calls for the store until the parent closes it. Then the process ends. */
export function serveStore(store: Store): void {
  const calls: Partial<MemberStore> = store;
  const answer = async ({ id, method, parameters }: Request): Promise<void> => {
    const call = calls[method]?.bind(store) as Call | undefined;
    invariant(call !== undefined, `the store has a method ${method}`);
    const response: Response = await call(...parameters).then(
      (result) => ({ id, result }),
      (error: unknown) => ({
        id,
        error: String(error),
        ...(error instanceof GuardError && { guard: error.actual }),
      }),
    );
    process.send?.(response);
    if (method === 'close') process.disconnect();
  };
  process.on('message', (request: Request) => void answer(request));
  process.send?.({ id: 0, result: 'ready' });
}

function errorOf({ error, guard }: Refusal): Error {
  return guard === undefined ? new Error(error) : new GuardError(guard);
}

/**
 * In the parent: a store that forwards calls to a child that runs `serveStore`. Fork the child with
 * `serialization: 'advanced'`, which transfers bytes. Calls are rejected once the child has exited.
 */
export async function remoteStore(child: ChildProcess): Promise<SpawnedStore> {
  const exited = once(child, 'exit');
  const waiting = new Map<number, (response: Response) => void>();
  let lastId = 0;
  child.on('message', (response: Response) => {
    waiting.get(response.id)?.(response);
    waiting.delete(response.id);
  });
  child.on('exit', () => {
    for (const [id, settle] of waiting) settle({ id, error: 'the process ended' });
  });

  const receive = (id: number) =>
    new Promise<unknown>((resolve, reject) => {
      waiting.set(id, (response) => {
        if ('error' in response) reject(errorOf(response));
        else resolve(response.result);
      });
    });
  const call = async (method: Method, ...parameters: readonly unknown[]): Promise<unknown> => {
    invariant(child.connected, 'the process is gone');
    lastId += 1;
    const result = receive(lastId);
    const request: Request = { id: lastId, method, parameters };
    child.send(request, () => undefined);
    return result;
  };
  await receive(0);
  const store: MemberStore = {
    get: (key, options) => call('get', key, options) as Promise<Entry | undefined>,
    getMany: (keys, options) => call('getMany', keys, options) as Promise<(Entry | undefined)[]>,
    range: (range, options) => call('range', range, options) as Promise<RangePage>,
    commit: (batch) => call('commit', batch) as Promise<CommitResult>,
    fence: (batch) => call('fence', batch) as Promise<CommitResult>,
    ingest: (ingestion) => call('ingest', ingestion) as Promise<void>,
    sample: (range, cuts, options) => call('sample', range, cuts, options) as Promise<RangeSample>,
    async close() {
      await call('close');
      await exited;
    },
  };
  return {
    store,
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
    async disconnect() {
      child.disconnect();
      await exited;
    },
  };
}
