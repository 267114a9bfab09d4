/**
 * Handles errors of a connection or an answer by ignoring them: its owner also receives the close
 * event, and late writes do not matter. Every accepted connection has this listener from the start,
 * because an unhandled error event ends the process.
 */
export function ignoreLostClient(): void {}
