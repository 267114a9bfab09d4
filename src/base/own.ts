// Records by names that others choose. What every object inherits (`toString`, `constructor`) is no
// entry of one, and `__proto__` is a name like any other.

/** What a record itself holds under a name; undefined when it has no such entry. */
export function own<V>(record: Readonly<Record<string, V>>, name: string): V | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** Sets an entry of a record, whatever its name: assigned, `__proto__` would set the prototype. */
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
