import cluster from 'node:cluster';

/** Set by the primary, because a process manager may also use `node:cluster`. */
export const workerVariable = 'TABULARIUM_WORKER_NUMBER';

/** The number of this worker, from 1; undefined in any other process. */
export function workerNumber(): number | undefined {
  const number = Number(process.env[workerVariable]);
  return cluster.isWorker && number >= 1 ? number : undefined;
}
