import { messageOf } from '../../base/thrown.js';
import { PartitionRefusal, type JobInfo } from '../../http/control/partitions.js';

/** Ended jobs that are remembered. */
const jobsMax = 100;

/** Receives the completed and the total work of a job, in the unit of the job. */
export interface JobProgress {
  add(done: number): void;
  total(total: number): void;
}

/** Jobs of this process, whose progress and result clients ask for. */
export class Jobs {
  readonly #jobs = new Map<number, JobInfo>();
  #last = 0;

  /**
   * Starts a job; its result is what `work` resolves with. It is refused when `work` rejects with
   * `PartitionRefusal`.
   */
  start(unit: string, work: (progress: JobProgress) => Promise<unknown>): { readonly job: number } {
    this.#last += 1;
    const job = this.#last;
    const change = (next: Partial<JobInfo>): void => {
      const before = this.#jobs.get(job);
      if (before !== undefined) this.#jobs.set(job, { ...before, ...next });
    };
    this.#jobs.set(job, { job, state: 'running', done: 0, unit });
    this.#forgetEarliest();
    const progress: JobProgress = {
      add: (done) => change({ done: (this.#jobs.get(job)?.done ?? 0) + done }),
      total: (total) => change({ total }),
    };
    work(progress).then(
      (result) => change({ state: 'done', result }),
      (error: unknown) => {
        const state = error instanceof PartitionRefusal ? 'refused' : 'failed';
        change({ state, problem: messageOf(error) });
      },
    );
    return { job };
  }

  #forgetEarliest(): void {
    const ended = [...this.#jobs.values()].filter(({ state }) => state !== 'running');
    for (const { job } of ended.slice(0, -jobsMax)) this.#jobs.delete(job);
  }

  find(job: number): JobInfo | undefined {
    return this.#jobs.get(job);
  }
}
