import { checkJournal, noteKey, type JournalReport } from '../engines/journal/check.js';
import { checkDirectory, type ProgressListener } from '../engines/lmdb/check/directory-check.js';
import type { CheckReport as DataFileReport } from '../engines/lmdb/check/check.js';

/** The findings in a data directory. */
export interface CheckReport extends DataFileReport {
  /** Undefined when there is no journal, and when the data file does not tell. */
  readonly journal: JournalReport | undefined;
}

export interface CheckListener {
  /** Pages of the data file were read. */
  readonly pages: ProgressListener;
  /**
   * Called with the number of journal files that were read. A process that has died repeatedly
   * leaves many.
   */
  readonly journal: (files: number) => void;
}

/** The check of a data directory that no server uses, for commands. Throws `DataDirectoryError`. */
export async function checkDataDirectory(
  directory: string,
  listener: CheckListener,
): Promise<CheckReport> {
  const report = await checkDirectory(directory, listener.pages, { wanted: noteKey });
  if (report.damages > 0) return { ...report, journal: undefined };
  const journal = await checkJournal(directory, report.wanted, listener.journal);
  return { ...report, journal };
}
