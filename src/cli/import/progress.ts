import { rateOf, showProgress, type ProgressReport } from '../terminal/progress.js';
import { grouped } from '../terminal/terminal.js';

export interface ProgressCounts {
  readonly rows: number;
  readonly refused: number;
  /** Bytes of the input that have been read. */
  readonly bytes: number;
}

/** Shows the progress of an import. */
export function reportProgress(options: {
  readonly stream: NodeJS.WriteStream;
  /** Undefined when the size of the input is not known. */
  readonly bytesTotal: number | undefined;
  readonly counts: () => ProgressCounts;
}): ProgressReport {
  const { stream, bytesTotal, counts } = options;
  const rate = rateOf(() => counts().rows);
  return showProgress({
    stream,
    share: bytesTotal === undefined ? undefined : () => counts().bytes / Math.max(1, bytesTotal),
    facts: () => {
      const { rows, refused } = counts();
      const bad = refused > 0 ? [`${grouped(refused)} refused`] : [];
      return [`${grouped(rows)} rows`, `${grouped(rate())}/s`, ...bad];
    },
  });
}
