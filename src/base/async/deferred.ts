/** A promise, and the function that resolves it. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  /** Only the first call has an effect. */
  readonly resolve: (value: T) => void;
}

/** A promise that is resolved from outside, for instance by an event that comes later. */
export function deferred<T = void>(): Deferred<T> {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
