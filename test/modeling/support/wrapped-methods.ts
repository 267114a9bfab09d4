/**
 * The same object, whose methods go through `call`: `send` calls the method itself. What is no
 * method stays as it is.
 */
export function wrappedMethods<T extends object>(
  port: T,
  call: (name: string, send: () => unknown, given: readonly unknown[]) => unknown,
): T {
  return new Proxy(port, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...given: unknown[]): unknown =>
        call(String(name), () => Reflect.apply(member, target, given), given);
    },
  });
}
