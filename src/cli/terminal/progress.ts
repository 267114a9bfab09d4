import { systemClock } from '../../base/clock.js';
import { printable } from './terminal.js';

/**
 * Shows the progress of work: on a terminal in one line that is drawn again, with a bar when the
 * total is known; elsewhere by a line every few seconds.
 */
export interface ProgressReport {
  /** Prints a line above the bar. */
  line(text: string): void;
  /** Makes room for a line on another stream of the same terminal. */
  clear(): void;
  stop(): void;
}

/** A terminal or any other stream. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

export interface ProgressSource {
  readonly stream: ProgressStream;
  /** The share that is done, 0 to 1; undefined while the total is unknown. */
  readonly share: (() => number | undefined) | undefined;
  /** Short texts about the work so far. */
  readonly facts: () => readonly string[];
  /** On a terminal short work, up to this time, shows nothing. Default: it shows at once. */
  readonly quietMs?: number;
}

/** For work that is mostly short: on a terminal, less than this time shows nothing. */
export const quietMs = 1_000;

const barIntervalMs = 200;
const barColumns = 40;
const clearLine = '\r\x1b[K';
const lineIntervalMs = 5000;

export function showProgress(work: ProgressSource): ProgressReport {
  return work.stream.isTTY === true ? drawnReport(work) : lineReport(work);
}

/** How many a second, since it was made. */
export function rateOf(count: () => number): () => number {
  const startMs = systemClock.monotonicMs();
  const before = count();
  return () => {
    const seconds = Math.max(0.001, (systemClock.monotonicMs() - startMs) / 1000);
    return Math.round((count() - before) / seconds);
  };
}

function drawnReport({ stream, share, facts, quietMs = 0 }: ProgressSource): ProgressReport {
  const startMs = systemClock.monotonicMs();
  let isShown = false;
  const draw = (): void => {
    if (systemClock.monotonicMs() - startMs < quietMs) return;
    isShown = true;
    const done = share?.();
    const bar = done === undefined ? [] : [barOf(done)];
    stream.write(`${clearLine}${[...bar, ...facts()].join('  ')}`);
  };
  draw();
  const timer = setInterval(draw, barIntervalMs);
  const clear = (): void => {
    if (isShown) stream.write(clearLine);
    isShown = false;
  };
  return {
    line(text) {
      clear();
      stream.write(`${printable(text)}\n`);
    },
    clear,
    stop() {
      clearInterval(timer);
      clear();
    },
  };
}

function barOf(share: number): string {
  const done = Math.min(1, share);
  const full = Math.floor(done * barColumns);
  return `${'█'.repeat(full)}${'░'.repeat(barColumns - full)} ${percentage(done)}`;
}

function lineReport({ stream, share, facts }: ProgressSource): ProgressReport {
  const timer = setInterval(() => {
    const done = share?.();
    const parts = done === undefined ? facts() : [percentage(done), ...facts()];
    stream.write(`${parts.join(', ')}\n`);
  }, lineIntervalMs);
  return {
    line: (text) => void stream.write(`${printable(text)}\n`),
    clear: () => undefined,
    stop: () => clearInterval(timer),
  };
}

function percentage(share: number): string {
  return `${Math.floor(share * 100)}%`;
}
