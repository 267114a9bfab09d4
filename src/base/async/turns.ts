/** Those who have had their time and wait for more, in order. */
const waiting: (() => void)[] = [];
/** What is to be done before one of them goes on. */
let ending: (() => void)[] = [];

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

/**
 * Calls back when everything that is ready in this turn of the event loop has been served, before
 * a caller of `nextTurn` goes on. What is called must be short and must not throw.
 */
export function atEndOfTurn(call: () => void): void {
  ending.push(call);
  if (ending.length === 1) setImmediate(endTurn);
}

function endTurn(): void {
  const calls = ending;
  ending = [];
  for (const call of calls) call();
}

function goOn(): void {
  if (ending.length > 0) endTurn();
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(goOn);
}
