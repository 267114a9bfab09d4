import cluster from 'node:cluster';

/** Set by the primary: a process manager may have made this process a worker of its own. */
export const workerVariable = 'TABULARIUM_WORKER_NUMBER';

/** Which worker of a primary this process is, from 1; undefined when it is none. */
export function workerNumber(): number | undefined {
  const number = Number(process.env[workerVariable]);
  return cluster.isWorker && number >= 1 ? number : undefined;
}
