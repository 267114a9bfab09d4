import { dateOfTicks, isoOfTicks, ticksMax, ticksOfDate, ticksOfIso } from './ticks.js';
import { ValueError } from './model-error.js';

/**
 * A moment in UTC, exact to 100 ns, from year 1 to year 9999. Immutable. Compare with `compare` or
 * `equals`; two instants are never `===`.
 */
export class Instant {
  /** 100 ns units since 0001-01-01T00:00:00Z. */
  readonly ticks: bigint;

  private constructor(ticks: bigint) {
    this.ticks = ticks;
    Object.freeze(this);
  }

  /** Throws `ValueError` outside year 1 to 9999. */
  static ofTicks(ticks: bigint): Instant {
    if (ticks < 0n || ticks > ticksMax) {
      throw new ValueError(`${ticks} ticks lie outside the years 1 to 9999`);
    }
    return new Instant(ticks);
  }

  /** Throws `ValueError` for an invalid date. */
  static ofDate(date: Date): Instant {
    if (Number.isNaN(date.getTime())) throw new ValueError('the date is invalid');
    return Instant.ofTicks(ticksOfDate(date));
  }

  /**
   * Reads `yyyy-MM-dd[THH:mm[:ss[.fffffff]]][Z|±hh:mm]`, UTC without a zone. Throws `ValueError`
   * for anything else, more than seven digits of a fraction included.
   */
  static parse(text: string): Instant {
    const ticks = ticksOfIso(text);
    if (ticks === undefined) {
      throw new ValueError(`'${text}' is no date such as 2024-05-31T12:00:00.1234567Z`);
    }
    return new Instant(ticks);
  }

  /** Rounds down to a millisecond. */
  toDate(): Date {
    return dateOfTicks(this.ticks);
  }

  /** ISO 8601 with up to seven digits of a fraction, UTC. */
  toString(): string {
    return isoOfTicks(this.ticks);
  }

  toJSON(): string {
    return this.toString();
  }

  equals(other: Instant): boolean {
    return this.ticks === other.ticks;
  }

  /** Negative, zero or positive, for sorting. */
  compare(other: Instant): number {
    if (this.ticks === other.ticks) return 0;
    return this.ticks < other.ticks ? -1 : 1;
  }
}
