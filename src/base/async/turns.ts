/** Those who have had their time and wait for more, in order. */
const waiting: (() => void)[] = [];

/**
 * Resolves when others have had their turn: everything that is ready, and every caller that asked
 * before. One caller goes on in each turn of the event loop, so that what is ready between two
 * waits for one of them, however many there are.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(goOn);
  });
}

function goOn(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(goOn);
}
