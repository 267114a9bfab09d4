import type {
  BalanceInfo,
  NewStore,
  JobInfo,
  OperationInfo,
  PartitionControl,
  PartitionsInfo,
  Started,
  StartedJob,
  VerifyChoice,
} from '../../http/control/partitions.js';
import { codeOf, CommandFailure, messageOf, UsageError } from '../terminal/failure.js';

/** The ranges of a server that runs, by its control API. */
export class RemotePartitions implements PartitionControl {
  readonly #port: number;

  constructor(port: number) {
    this.#port = port;
  }

  list({ sizes }: { readonly sizes: boolean }): Promise<PartitionsInfo> {
    return this.#ask('GET', sizes ? 'partitions/sizes' : 'partitions');
  }

  split(range: number, at?: string): Promise<Started> {
    return this.#ask('POST', `partitions/${range}/split`, at === undefined ? {} : { at });
  }

  merge(left: number, right: number): Promise<Started> {
    return this.#ask('POST', `partitions/${left}/merge`, { with: right });
  }

  move(range: number, to: string, pauseMaxMs?: number): Promise<Started> {
    const pause = pauseMaxMs === undefined ? {} : { pauseMaxMs };
    return this.#ask('POST', `partitions/${range}/move`, { to, ...pause });
  }

  async cancel(operation: number): Promise<boolean> {
    const path = `partition-operations/${operation}`;
    return (await this.#ask<{ cancelled: boolean }>('DELETE', path)).cancelled;
  }

  operation(operation: number): Promise<OperationInfo | undefined> {
    return this.#find(`partition-operations/${operation}`);
  }

  balance(dryRun: boolean): Promise<BalanceInfo> {
    return this.#ask('POST', 'partition-balance', { dryRun });
  }

  async addStore(name: string, store: NewStore): Promise<void> {
    await this.#ask('PUT', storePath(name), store);
  }

  async drainStore(name: string): Promise<void> {
    await this.#ask('POST', `${storePath(name)}/drain`);
  }

  async removeStore(name: string): Promise<void> {
    await this.#ask('DELETE', storePath(name));
  }

  verify(choice: VerifyChoice = {}): Promise<StartedJob> {
    return this.#ask('POST', 'partition-verification', choice);
  }

  backUp(range: number, directory: string): Promise<StartedJob> {
    return this.#ask('POST', `partitions/${range}/backup`, { directory });
  }

  restore(range: number, directory: string, as?: string): Promise<StartedJob> {
    const renamed = as === undefined ? {} : { as };
    return this.#ask('POST', `partitions/${range}/restore`, { directory, ...renamed });
  }

  job(job: number): Promise<JobInfo | undefined> {
    return this.#find(`partition-jobs/${job}`);
  }

  async #find<Found>(path: string): Promise<Found | undefined> {
    const { status, body } = await this.#send('GET', path);
    return status === 404 ? undefined : (answered(status, body) as Found);
  }

  async #ask<Answer>(method: string, path: string, content?: unknown): Promise<Answer> {
    const { status, body } = await this.#send(method, path, content);
    // The answer is of this release, or of one that answers in the same form.
    return answered(status, body) as Answer;
  }

  async #send(
    method: string,
    path: string,
    content?: unknown,
  ): Promise<{ readonly status: number; readonly body: unknown }> {
    const address = `http://127.0.0.1:${this.#port}`;
    try {
      const response = await fetch(`${address}/${path}`, {
        method,
        ...(content !== undefined && { body: JSON.stringify(content) }),
      });
      return { status: response.status, body: await response.json() };
    } catch (error) {
      const cause = error instanceof Error ? error.cause : undefined;
      if (codeOf(cause) === 'ECONNREFUSED') {
        throw new CommandFailure(
          `Nothing listens at ${address}. Start the server with --control-port ${this.#port}, or ` +
            'open its stores without it: --config FILE.',
          { cause: error },
        );
      }
      throw new CommandFailure(`The server at ${address} did not answer: ${messageOf(cause)}`, {
        cause: error,
      });
    }
  }
}

function storePath(name: string): string {
  return `partition-stores/${encodeURIComponent(name)}`;
}

/** Refused requests are wrong usage: nothing was done. */
function answered(status: number, body: unknown): unknown {
  if (status < 300) return body;
  const message =
    typeof body === 'object' && body !== null && 'error' in body
      ? String(body.error)
      : `The server answered with ${status}.`;
  throw status < 500 ? new UsageError(message) : new CommandFailure(message);
}
