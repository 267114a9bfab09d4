/** A message as it was handed out. */
export interface Delivered {
  readonly id: string;
  readonly text: string;
  readonly dequeueCount: number;
  readonly popReceipt: string;
}

/**
 * What clients know of one message. Only the client that holds it changes it, by one request at a
 * time.
 */
export interface Known {
  readonly serial: number;
  /** From the response to the put, or from the first delivery. */
  id: string | undefined;
  /** The text, and any text that an update without a response may have written. */
  readonly texts: Set<string>;
  /** Of the last delivery that a response has shown. */
  dequeueCount: number;
  /** The number of deliveries that responses have shown. */
  deliveries: number;
  /** undefined: the response with the current receipt was lost. */
  receipt: string | undefined;
  /** Nobody else may get it earlier; 0 when a client may have it, or any client may get it. */
  hiddenUntilMs: number;
  /** From then on the next get must return it, unless one without a response has taken it. */
  freeFromMs: number;
  /** `maybe`: the request that put or deleted it got no response. */
  presence: 'stored' | 'maybe' | 'deleted';
}

/** A put of a message, and whether it begins hidden. */
export interface Planned {
  readonly serial: number;
  readonly text: string;
}

const never = Infinity;

export function textOf(serial: number, pad: string): string {
  return `${serial}:${pad}`;
}

export function isHeld({ presence, hiddenUntilMs, receipt }: Known): boolean {
  return presence === 'stored' && hiddenUntilMs > 0 && receipt !== undefined;
}

function serialOf(text: string): number {
  return Number(text.slice(0, text.indexOf(':')));
}

/**
 * What clients know of one queue: what was acknowledged, and what was sent without getting a
 * response. Violations are added to `violations`.
 */
export class QueueLedger {
  readonly violations: string[] = [];
  readonly #messages = new Map<number, Known>();
  /** How many messages the gets in progress may take. */
  #slotsUnderWay = 0;
  /** How many messages gets without a response may have taken. */
  #slotsLost = 0;
  #serial = 0;
  acknowledged = 0;

  nextSerial(): number {
    this.#serial += 1;
    return this.#serial;
  }

  all(presence: Known['presence']): Known[] {
    return [...this.#messages.values()].filter((message) => message.presence === presence);
  }

  /** Messages that no other client can get, and whose current receipt is known. */
  held(): Known[] {
    return [...this.#messages.values()].filter(isHeld);
  }

  issuePut({ serial, text }: Planned): Known {
    const message: Known = {
      serial,
      id: undefined,
      texts: new Set([text]),
      dequeueCount: 0,
      deliveries: 0,
      receipt: undefined,
      hiddenUntilMs: 0,
      freeFromMs: never,
      presence: 'maybe',
    };
    this.#messages.set(serial, message);
    return message;
  }

  /** Another client may have received the message before this response arrived. */
  acknowledgePut(message: Known, { id, popReceipt }: Pick<Delivered, 'id' | 'popReceipt'>): void {
    this.acknowledged += 1;
    if (message.id !== undefined && message.id !== id) this.#broken(message, 'has two ids');
    message.id = id;
    if (message.presence === 'maybe') message.presence = 'stored';
    if (message.dequeueCount > 0) return;
    message.receipt = popReceipt;
    message.freeFromMs = message.hiddenUntilMs === 0 ? 0 : never;
  }

  issueGet(count: number): void {
    this.#slotsUnderWay += count;
  }

  /** `holdMs`: for how long nobody else may get these messages, from the moment of the response. */
  acknowledgeGet(count: number, found: readonly Delivered[], holdMs: number): Known[] {
    this.acknowledged += 1;
    this.#slotsUnderWay -= count;
    return found.flatMap((delivered) => {
      const message = this.#take(delivered);
      if (message === undefined) return [];
      message.hiddenUntilMs = Date.now() + holdMs;
      message.freeFromMs = never;
      return [message];
    });
  }

  /**
   * Any client may get the message from now on; from `freeFromMs` on the next get must return it.
   */
  letGo(message: Known, freeFromMs: number): void {
    message.hiddenUntilMs = 0;
    message.freeFromMs = freeFromMs;
  }

  /** Accounts for the gets that were in progress when the server was killed. */
  crash(): void {
    this.#slotsLost += this.#slotsUnderWay;
    this.#slotsUnderWay = 0;
  }

  /** Checks that the server's message count is possible. */
  checkCount(count: number): void {
    const least = this.all('stored').length;
    const most = least + this.all('maybe').length;
    if (count >= least && count <= most) return;
    this.violations.push(`the count is ${count}, not ${least} to ${most}`);
  }

  /**
   * To be called after every message visible since `sinceMs` was taken: any other free message must
   * have been taken by gets without a response, within the number that these asked for.
   */
  checkNothingLost(sinceMs: number): void {
    const untold = this.#untoldDeliveries();
    if (untold < 0 || untold > this.#slotsLost) {
      this.violations.push(`${untold} deliveries too many; ${this.#slotsLost} may be unknown`);
    }
    const missing = this.all('stored').filter(({ freeFromMs }) => freeFromMs <= sinceMs);
    const left = this.#slotsLost - untold;
    if (missing.length <= left) return;
    const serials = missing.map(({ serial }) => serial).join(', ');
    this.violations.push(`messages ${serials} did not come; unanswered gets have ${left} at most`);
  }

  #take({ id, text, dequeueCount, popReceipt }: Delivered): Known | undefined {
    const message = this.#messages.get(serialOf(text));
    if (message === undefined) {
      this.violations.push(`${text} was never put`);
      return undefined;
    }
    if (message.presence === 'deleted') this.#broken(message, 'came back after its deletion');
    if (!message.texts.has(text)) this.#broken(message, `has the text ${text}`);
    if (message.id !== undefined && message.id !== id) this.#broken(message, 'has two ids');
    if (Date.now() < message.hiddenUntilMs) this.#broken(message, 'came while it was hidden');
    message.id = id;
    message.presence = 'stored';
    message.deliveries += 1;
    // Two responses may be read in another order than they were sent.
    if (dequeueCount < message.dequeueCount) return undefined;
    if (dequeueCount === message.dequeueCount) this.#broken(message, 'came twice with one count');
    message.dequeueCount = dequeueCount;
    message.receipt = popReceipt;
    message.texts.clear();
    message.texts.add(text);
    return message;
  }

  /** Deliveries that no response has shown, according to dequeue counts. */
  #untoldDeliveries(): number {
    let untold = 0;
    for (const { dequeueCount, deliveries } of this.#messages.values()) {
      untold += dequeueCount - deliveries;
    }
    return untold;
  }

  #broken(message: Known, what: string): void {
    const { serial, dequeueCount, presence } = message;
    this.violations.push(
      `message ${serial} ${what} (${presence}, delivered ${dequeueCount} times so far)`,
    );
  }
}
