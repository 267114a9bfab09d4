/** Callers that have used their slice and wait for the next turn, in order. */
const waiting: (() => void)[] = [];
/** Callbacks to run before one of them continues. */
let ending: (() => void)[] = [];

/** After this many turns with nothing but arrivals, a waiting caller continues anyway. */
const arrivalTurnsMax = 64;
let arrived = false;
let arrivalTurns = 0;

/**
 * Reports the arrival of a connection or the like, of which the event loop accepts one in each
 * turn: more of them may be ready.
 */
export function noteArrival(): void {
  arrived = true;
}

/**
 * Resolves after all ready work, and all earlier callers of this function, have had a turn. Only
 * one caller continues in each turn of the event loop, so that ready work waits for one of them at
 * most.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(goOn);
  });
}

/**
 * Calls back after all ready work of this turn of the event loop, before a caller of `nextTurn`
 * continues. The callback must be short and must not throw.
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
  if (!takesArrivals()) waiting.shift()?.();
  if (waiting.length > 0) setImmediate(goOn);
}

/** Whether this turn is left to arrivals. */
function takesArrivals(): boolean {
  arrivalTurns = arrived ? arrivalTurns + 1 : 0;
  arrived = false;
  if (arrivalTurns <= arrivalTurnsMax) return arrivalTurns > 0;
  arrivalTurns = 0;
  return false;
}
