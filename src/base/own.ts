// Records whose keys come from outside. Inherited members (`toString`, `constructor`) are no
// entries, and `__proto__` is a key like any other.

/** The own entry of a record; undefined when it has none. */
export function own<V>(record: Readonly<Record<string, V>>, name: string): V | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** Sets an entry of a record. A plain assignment to `__proto__` would set the prototype. */
export function setOwn<V>(record: Record<string, V>, name: string, value: V): void {
  if (name !== '__proto__') record[name] = value;
  else {
    Object.defineProperty(record, name, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
}
