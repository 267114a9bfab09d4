import { SeedError, type ServerOptions } from '../../app/index.js';
import { systemTimers } from '../../base/async/timers.js';
import type { LoadedSeed } from '../config/seed-file.js';
import { reportProgress } from '../import/progress.js';
import { quietMs, type ProgressReport } from '../terminal/progress.js';

/**
 * Starts something with the data of a seed file, and shows progress when it takes long. Throws
 * `UsageError` or `CommandFailure` with the mistake in the file and its position.
 */
export async function withSeed<Started>(
  file: string | undefined,
  start: (options: Pick<ServerOptions, 'init'>) => Promise<Started>,
): Promise<Started> {
  if (file === undefined) return start({});
  const { loadSeed } = await import('../config/seed-file.js');
  const seed = await loadSeed(file);
  let rows = 0;
  let report: ProgressReport | undefined;
  const timer = systemTimers.start(
    quietMs,
    () => (report = seedReport(file, seed, () => rows)),
    undefined,
  );
  const progress: ServerOptions['init'] = {
    ...seed.data,
    progress: ({ entities, messages, blobs }) => void (rows = entities + messages + blobs),
  };
  try {
    return await start({ init: progress });
  } catch (error) {
    throw error instanceof SeedError ? seed.explain(error) : error;
  } finally {
    timer.close();
    report?.stop();
  }
}

function seedReport(file: string, seed: LoadedSeed, rows: () => number): ProgressReport {
  const report = reportProgress({
    stream: process.stderr,
    bytesTotal: seed.bytesTotal === 0 ? undefined : seed.bytesTotal,
    counts: () => ({ rows: rows(), refused: 0, bytes: seed.bytesRead() }),
  });
  report.line(`Seeding from ${file}`);
  return report;
}
