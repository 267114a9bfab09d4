import type { Renewal } from '../../src/services/queues/types.js';

/** When an operation ran, in ticks of the log and by the clock of the test. */
export interface Span {
  readonly startTick: number;
  readonly endTick: number;
  readonly startMicros: number;
  readonly endMicros: number;
}

export interface Presented {
  readonly id: string;
  readonly popReceipt: string;
}

interface Attempt extends Presented {
  readonly span: Span;
}

interface Delivery extends Attempt, Renewal {
  readonly dequeueCount: number;
}

interface Put extends Presented, Renewal {
  readonly expiresMicros: number;
}

/** A successful use of a receipt. Without a renewal it deleted the message. */
interface Use extends Attempt {
  readonly renewal?: Renewal;
}

interface Story {
  put: Put | undefined;
  readonly deliveries: Delivery[];
  readonly uses: Use[];
  readonly refusals: Attempt[];
}

/** A message that must still be stored. */
export interface Survivor {
  readonly id: string;
  readonly dequeueCount: number;
  readonly expiresMicros: number;
}

/**
 * What concurrent workers observed of one queue, and whether one order of events explains it. The
 * order of events of one message is known: dequeue counts increase, and each receipt was issued by
 * the step before.
 */
export class RaceLog {
  readonly #stories = new Map<string, Story>();
  #ticks = 0;

  tick(): number {
    this.#ticks += 1;
    return this.#ticks;
  }

  put(put: Put): void {
    this.#story(put).put = put;
  }

  delivered(delivery: Delivery): void {
    this.#story(delivery).deliveries.push(delivery);
  }

  updated(use: Attempt & { readonly renewal: Renewal }): void {
    this.#story(use).uses.push(use);
  }

  deleted(use: Attempt): void {
    this.#story(use).uses.push(use);
  }

  refused(refusal: Attempt): void {
    this.#story(refusal).refusals.push(refusal);
  }

  /** An update was refused because its time of visibility was after the expiry. */
  tooLate(attempt: Attempt & { readonly visibilitySeconds: number }): void {
    const { put } = this.#story(attempt);
    const { endMicros } = attempt.span;
    const latest = endMicros + attempt.visibilitySeconds * 1_000_000;
    if (put === undefined || latest > put.expiresMicros) return;
    throw new Error(`${attempt.id} was not to expire before ${latest}`);
  }

  /** Totals over all messages, which show that workers did compete. */
  totals(): Readonly<
    Record<'messages' | 'deliveries' | 'redeliveries' | 'uses' | 'refusals', number>
  > {
    const totals = { messages: 0, deliveries: 0, redeliveries: 0, uses: 0, refusals: 0 };
    for (const { deliveries, uses, refusals } of this.#stories.values()) {
      totals.messages += 1;
      totals.deliveries += deliveries.length;
      totals.redeliveries += Math.max(0, deliveries.length - 1);
      totals.uses += uses.length;
      totals.refusals += refusals.length;
    }
    return totals;
  }

  /** What no order of events explains, and the messages that must remain. */
  explain(): { readonly violations: readonly string[]; readonly survivors: readonly Survivor[] } {
    const violations: string[] = [];
    const survivors: Survivor[] = [];
    for (const [id, story] of this.#stories) {
      const ending = retell(story);
      violations.push(...ending.violations.map((text) => `${id}: ${text}`));
      if (ending.survivor !== undefined) survivors.push(ending.survivor);
    }
    return { violations, survivors };
  }

  #story({ id }: Presented): Story {
    const known = this.#stories.get(id);
    if (known !== undefined) return known;
    const story: Story = { put: undefined, deliveries: [], uses: [], refusals: [] };
    this.#stories.set(id, story);
    return story;
  }
}

interface Ending {
  readonly violations: readonly string[];
  readonly survivor?: Survivor;
}

/** Follows one message from its put. */
function retell(story: Story): Ending {
  const { put } = story;
  if (put === undefined) return { violations: ['it was never put'] };
  const teller = new Teller(story, put);
  const deliveries = story.deliveries.toSorted(
    (left, right) => left.dequeueCount - right.dequeueCount,
  );
  for (const delivery of deliveries) teller.deliver(delivery);
  teller.useUp(undefined);
  teller.checkRefusals();
  return teller.ending();
}

class Teller {
  readonly #story: Story;
  readonly #put: Put;
  readonly #violations: string[] = [];
  /** The dequeue count at which each receipt was current. */
  readonly #receipts = new Map<string, number>();
  #receipt: string;
  #nextVisibleMicros: number;
  #count = 0;
  #usesSeen = 0;
  #deleted = false;

  constructor(story: Story, put: Put) {
    this.#story = story;
    this.#put = put;
    this.#receipt = put.popReceipt;
    this.#nextVisibleMicros = put.nextVisibleMicros;
    this.#receipts.set(put.popReceipt, 0);
  }

  deliver(delivery: Delivery): void {
    const { span, dequeueCount } = delivery;
    this.useUp(delivery);
    if (this.#deleted) this.#violations.push(`delivery ${dequeueCount} of a deleted message`);
    if (dequeueCount !== this.#count + 1) {
      this.#violations.push(`delivery ${dequeueCount} after ${this.#count}`);
    }
    if (span.endMicros < this.#nextVisibleMicros) {
      this.#violations.push(
        `delivery ${dequeueCount} at ${span.endMicros}, hidden until ${this.#nextVisibleMicros}`,
      );
    }
    this.#assertAlive(delivery);
    this.#count = dequeueCount;
    this.#adopt(delivery);
  }

  /** Applies the updates or the deletion between two deliveries. */
  useUp(next: Delivery | undefined): void {
    for (;;) {
      const uses = this.#story.uses.filter(({ popReceipt }) => popReceipt === this.#receipt);
      if (uses.length > 1) this.#violations.push(`${uses.length} uses of one receipt succeeded`);
      const [use] = uses;
      if (use === undefined) return;
      this.#usesSeen += uses.length;
      this.#assertAlive(use);
      if (next !== undefined && use.span.startTick > next.span.endTick) {
        this.#violations.push(`a receipt worked after delivery ${next.dequeueCount}`);
      }
      if (use.renewal === undefined) {
        this.#deleted = true;
        return;
      }
      this.#adopt(use.renewal);
    }
  }

  /** Each refusal must have a reason that may have preceded it. */
  checkRefusals(): void {
    for (const { popReceipt, span } of this.#story.refusals) {
      const count = this.#receipts.get(popReceipt);
      const isUsed = this.#story.uses.some(
        (use) => use.popReceipt === popReceipt && use.span.startTick < span.endTick,
      );
      const isRedelivered = this.#story.deliveries.some(
        (later) => later.dequeueCount > (count ?? Infinity) && later.span.startTick < span.endTick,
      );
      const isExpired = span.endMicros >= this.#put.expiresMicros;
      if (!isUsed && !isRedelivered && !isExpired) {
        this.#violations.push(`a receipt of delivery ${count} was refused without a reason`);
      }
    }
  }

  ending(): Ending {
    const { uses } = this.#story;
    if (this.#usesSeen !== uses.length) {
      this.#violations.push(
        `${uses.length - this.#usesSeen} uses of receipts that were not current`,
      );
    }
    const { id, expiresMicros } = this.#put;
    const survivor = { id, dequeueCount: this.#count, expiresMicros };
    return { violations: this.#violations, ...(this.#deleted ? {} : { survivor }) };
  }

  #adopt({ popReceipt, nextVisibleMicros }: Renewal): void {
    this.#receipt = popReceipt;
    this.#nextVisibleMicros = nextVisibleMicros;
    this.#receipts.set(popReceipt, this.#count);
  }

  #assertAlive({ span }: Attempt): void {
    if (span.startMicros < this.#put.expiresMicros) return;
    this.#violations.push(`used at ${span.startMicros}, expired at ${this.#put.expiresMicros}`);
  }
}
