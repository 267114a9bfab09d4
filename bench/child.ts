/** Where a server listens, by service. */
export interface Ports {
  readonly table: number;
  readonly queue: number;
  readonly blob: number;
}

/** Tells the benchmark on which ports this server listens. */
export function reportPorts(ports: Ports): void {
  process.send?.(ports);
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
