/** The number of operations whose ends or failures are remembered. */
const endsMax = 1_000;

/** Sets a value for an operation, and forgets the oldest one when there are too many. */
export function remember<Value>(values: Map<number, Value>, operation: number, value: Value): void {
  values.set(operation, value);
  if (values.size <= endsMax) return;
  const [oldest] = values.keys();
  if (oldest !== undefined) values.delete(oldest);
}
