/** Operations that are remembered with their ends or failures. */
const endsMax = 1_000;

/** Notes something of an operation, and forgets the oldest when there is too much. */
export function remember<Value>(values: Map<number, Value>, operation: number, value: Value): void {
  values.set(operation, value);
  if (values.size <= endsMax) return;
  const [oldest] = values.keys();
  if (oldest !== undefined) values.delete(oldest);
}
