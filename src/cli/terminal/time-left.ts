import { systemClock } from '../../base/clock.js';

/** Shown until the time can be estimated. */
const unknown = 'time left unknown';
/** While a smaller share is done, the rate predicts nothing. */
const shareMin = 0.02;
const [minuteSeconds, hourSeconds] = [60, 3_600];

/** Estimates the remaining time of work that begins now from the share that is done. */
export function timeLeft(share: () => number): () => string {
  const startMs = systemClock.monotonicMs();
  const before = share();
  return () => {
    const done = share() - before;
    if (done < shareMin) return unknown;
    const seconds = (systemClock.monotonicMs() - startMs) / 1000;
    return `${durationText((seconds * (1 - share())) / done)} left`;
  };
}

/** `40 s`, `5 min`, `3 h 20 min`. */
export function durationText(seconds: number): string {
  const whole = Math.max(0, Math.ceil(seconds));
  if (whole < minuteSeconds) return `${whole} s`;
  if (whole < hourSeconds) return `${Math.ceil(whole / minuteSeconds)} min`;
  const minutes = Math.ceil((whole % hourSeconds) / minuteSeconds);
  return `${Math.floor(whole / hourSeconds)} h ${minutes} min`;
}
