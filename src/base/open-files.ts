import { readFileSync } from 'node:fs';

/** Advice for people about an error `EMFILE`, and about one `ENFILE`; without a full stop. */
export const raiseOpenFiles = 'Raise the limit on open files (ulimit -n 1024, or more)';
export const raiseSystemOpenFiles = 'Raise the limit of the system on open files';

/**
 * The limit with which a server can begin: the files that it has open itself, those that its
 * threads and workers begin with, and a few connections.
 */
const openFilesMin = 128;

/** Why a server cannot begin with this limit; undefined when it can. */
export function tooFewOpenFiles(limit: number): string | undefined {
  if (limit >= openFilesMin) return undefined;
  return (
    `This process may have ${limit} open files, and a server needs ${openFilesMin} at least. ` +
    `${raiseOpenFiles}, and start again.`
  );
}

/**
 * How many files, connections included, the process may have open. Infinite where the system has no
 * such limit or does not tell it. Node has raised its own limit as far as it may.
 */
export function openFilesMax(): number {
  const text = process.platform === 'linux' ? linuxLimits() : undefined;
  const limit = text === undefined ? reportedLimit() : openFilesIn(text);
  return limit ?? Infinity;
}

/** The limit in a text of `/proc/self/limits`; undefined when there is none. */
export function openFilesIn(limits: string): number | undefined {
  const soft = /^Max open files +(\d+)/m.exec(limits)?.[1];
  return soft === undefined ? undefined : Number(soft);
}

/** Undefined where the system hides it, as a container may. */
function linuxLimits(): string | undefined {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return undefined;
  }
}

/** From a report that Node makes for crashes, in some milliseconds. */
function reportedLimit(): number | undefined {
  // Otherwise it asks for the names of hosts. Older releases ignore it.
  Object.assign(process.report, { excludeNetwork: true });
  const report: { userLimits?: { open_files?: { soft?: unknown } } } = process.report.getReport();
  const soft = report.userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : undefined;
}
