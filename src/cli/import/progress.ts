import { systemClock } from '../../base/clock.js';
import { grouped, printable } from '../terminal/terminal.js';

export interface ProgressCounts {
  readonly rows: number;
  readonly refused: number;
  /** Bytes of the input that have been read. */
  readonly bytes: number;
}

/** Shows the progress of an import: a bar on a terminal, otherwise a line every few seconds. */
export interface ProgressReport {
  /** Prints a line above the bar. */
  line(text: string): void;
  stop(): void;
}

const barIntervalMs = 200;
const barColumns = 40;
const clearLine = '\r\x1b[K';
const lineIntervalMs = 5000;

export function reportProgress(options: {
  readonly stream: NodeJS.WriteStream;
  /** Undefined when the size of the input is not known. */
  readonly bytesTotal: number | undefined;
  readonly counts: () => ProgressCounts;
}): ProgressReport {
  const startMs = systemClock.monotonicMs();
  const startRows = options.counts().rows;
  const rate = (): string => {
    const seconds = Math.max(0.001, (systemClock.monotonicMs() - startMs) / 1000);
    return grouped(Math.round((options.counts().rows - startRows) / seconds));
  };
  return options.stream.isTTY && options.bytesTotal !== undefined
    ? barReport(options.stream, options.bytesTotal, options.counts, rate)
    : lineReport(options.stream, options.bytesTotal, options.counts, rate);
}

function barReport(
  stream: NodeJS.WriteStream,
  bytesTotal: number,
  counts: () => ProgressCounts,
  rate: () => string,
): ProgressReport {
  const draw = (): void => {
    const { rows, refused, bytes } = counts();
    const share = Math.min(1, bytes / Math.max(1, bytesTotal));
    const full = Math.floor(share * barColumns);
    const bar = '█'.repeat(full) + '░'.repeat(barColumns - full);
    const bad = refused > 0 ? `  ${grouped(refused)} refused` : '';
    const percentage = Math.floor(share * 100);
    stream.write(`${clearLine}${bar} ${percentage}%  ${grouped(rows)} rows  ${rate()}/s${bad}`);
  };
  draw();
  const timer = setInterval(draw, barIntervalMs);
  return {
    line(text) {
      stream.write(`${clearLine}${printable(text)}\n`);
    },
    stop() {
      clearInterval(timer);
      stream.write(clearLine);
    },
  };
}

function lineReport(
  stream: NodeJS.WriteStream,
  bytesTotal: number | undefined,
  counts: () => ProgressCounts,
  rate: () => string,
): ProgressReport {
  const timer = setInterval(() => {
    const { rows, refused, bytes } = counts();
    const share = bytesTotal ? `${Math.floor((100 * bytes) / bytesTotal)}%, ` : '';
    const bad = refused > 0 ? `, ${grouped(refused)} refused` : '';
    stream.write(`${share}${grouped(rows)} rows, ${rate()}/s${bad}\n`);
  }, lineIntervalMs);
  return {
    line: (text) => void stream.write(`${printable(text)}\n`),
    stop: () => clearInterval(timer),
  };
}
