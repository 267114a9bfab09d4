import type {
  BalanceInfo,
  NewStore,
  JobInfo,
  OperationInfo,
  PartitionControl,
  PartitionsInfo,
  RemoveChoice,
  RestoreChoice,
  Started,
  StartedJob,
  VerifyChoice,
} from '../../http/control/partitions.js';
import { isStartedJob } from '../../http/control/job-results.js';
import { ControlClient, otherRelease } from '../client/control-client.js';
import { CommandFailure } from '../terminal/failure.js';

/** The ranges of a server that runs, by its control API. */
export class RemotePartitions implements PartitionControl {
  readonly #server: ControlClient;

  constructor(port: number) {
    this.#server = new ControlClient(port, 'or open its stores without it: --config FILE');
  }

  list(): Promise<PartitionsInfo> {
    return this.#server.ask('GET', 'partitions');
  }

  sizes(): Promise<StartedJob> {
    return this.#startedJob('POST', 'partitions/sizes');
  }

  split(range: number, at: string): Promise<Started> {
    return this.#server.ask('POST', `partitions/${range}/split`, { at });
  }

  halve(range: number): Promise<StartedJob> {
    return this.#startedJob('POST', `partitions/${range}/split`);
  }

  merge(left: number, right: number): Promise<Started> {
    return this.#server.ask('POST', `partitions/${left}/merge`, { with: right });
  }

  move(range: number, to: string, pauseMaxMs?: number): Promise<Started> {
    const pause = pauseMaxMs === undefined ? {} : { pauseMaxMs };
    return this.#server.ask('POST', `partitions/${range}/move`, { to, ...pause });
  }

  cancel(operation: number): Promise<StartedJob> {
    return this.#startedJob('DELETE', `partition-operations/${operation}`);
  }

  operation(operation: number): Promise<OperationInfo | undefined> {
    return this.#server.find(`partition-operations/${operation}`);
  }

  balance(dryRun: boolean): Promise<BalanceInfo> {
    return this.#server.ask('POST', 'partition-balance', { dryRun });
  }

  async addStore(name: string, store: NewStore): Promise<void> {
    await this.#server.ask('PUT', storePath(name), store);
  }

  async drainStore(name: string): Promise<void> {
    await this.#server.ask('POST', `${storePath(name)}/drain`);
  }

  async removeStore(name: string, choice: RemoveChoice = {}): Promise<void> {
    await this.#server.ask('DELETE', storePath(name), choice);
  }

  verify(choice: VerifyChoice = {}): Promise<StartedJob> {
    return this.#startedJob('POST', 'partition-verification', choice);
  }

  backUp(range: number, directory: string): Promise<StartedJob> {
    return this.#startedJob('POST', `partitions/${range}/backup`, { directory });
  }

  restore(range: number, directory: string, choice: RestoreChoice = {}): Promise<StartedJob> {
    return this.#startedJob('POST', `partitions/${range}/restore`, { directory, ...choice });
  }

  job(job: number): Promise<JobInfo | undefined> {
    return this.#server.find(`partition-jobs/${job}`);
  }

  /**
   * Begins a job. A server of another release may have done at once what was asked, and answers
   * with the result: throws `CommandFailure` then.
   */
  async #startedJob(method: string, path: string, content?: unknown): Promise<StartedJob> {
    const answer = await this.#server.ask<unknown>(method, path, content);
    if (isStartedJob(answer)) return answer;
    throw new CommandFailure(
      `What was asked may be done, but the answer names no job that does it: ${otherRelease}`,
    );
  }
}

function storePath(name: string): string {
  return `partition-stores/${encodeURIComponent(name)}`;
}
