const signalNumbers = { SIGINT: 2, SIGTERM: 15 } as const;

export type StopSignal = keyof typeof signalNumbers;

/**
 * Resolves with the first SIGINT or SIGTERM from now on. A second one ends the process at once,
 * with the exit code that shells give to it.
 */
export function firstStopSignal(): Promise<StopSignal> {
  return new Promise((resolve) => {
    let isStopping = false;
    const received = (signal: StopSignal): void => {
      if (isStopping) process.exit(128 + signalNumbers[signal]);
      isStopping = true;
      resolve(signal);
    };
    process.on('SIGINT', received);
    process.on('SIGTERM', received);
  });
}
