/** Tells the benchmark which port this server listens on. */
export function reportPort(port: number): void {
  process.send?.(port);
}

/** Ends this process in order when it is asked to, or when the benchmark is gone. */
export function endWithParent(close: () => Promise<void>): void {
  const end = (): void => {
    void close().then(() => process.exit(0));
  };
  process.once('SIGTERM', end);
  process.once('disconnect', end);
  process.on('SIGINT', () => {});
}
