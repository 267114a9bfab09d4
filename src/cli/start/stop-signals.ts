const signalNumbers = { SIGINT: 2, SIGTERM: 15 } as const;

export type StopSignal = keyof typeof signalNumbers;

/** The exit code of shells for a process that a signal ended. */
export function signalExitCode(signal: StopSignal): number {
  return 128 + signalNumbers[signal];
}

/**
 * Resolves with the first SIGINT or SIGTERM from now on. Calls back for each further one, which
 * means: stop at once.
 */
export function firstStopSignal(again: (signal: StopSignal) => void): Promise<StopSignal> {
  return new Promise((resolve) => {
    let isStopping = false;
    const received = (signal: StopSignal): void => {
      if (isStopping) again(signal);
      isStopping = true;
      resolve(signal);
    };
    process.on('SIGINT', received);
    process.on('SIGTERM', received);
  });
}
