/** Whether the answer to a creation repeats what was created. */
export type Preference = 'return-content' | 'return-no-content';

/** `Prefer`; values that the service does not know are ignored (table-service §3.4). */
export function preferenceOf(text: string | undefined): Preference | undefined {
  if (text === undefined) return undefined;
  const value = text.trim().toLowerCase();
  return value === 'return-content' || value === 'return-no-content' ? value : undefined;
}
