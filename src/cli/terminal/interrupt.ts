/** Calls back before a signal ends the process. Returns the function that removes the handlers. */
export function onInterrupt(told: () => void): () => void {
  const signals = ['SIGINT', 'SIGTERM'] as const;
  const release = (): void => {
    for (const each of signals) process.removeListener(each, received);
  };
  const received = (signal: NodeJS.Signals): void => {
    told();
    release();
    process.kill(process.pid, signal);
  };
  for (const each of signals) process.on(each, received);
  return release;
}
