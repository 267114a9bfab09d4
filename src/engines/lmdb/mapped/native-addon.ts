import * as lmdb from 'lmdb';

/** An environment of the package without its trees. */
export interface NativeEnvironment {
  open(options: object, flags: number, ownFlags: number): number;
  close(): void;
}

/** Access to the mapped memory, which the package exports but its types lack. */
export interface MapAccess {
  /**
   * A view of the mapped value of the key that the last read of this thread has asked for, in the
   * snapshot of that read. `database` is the `dbAddress` of the tree, `keyBytes` the length of the
   * key, 16 at most: the read writes its version behind that.
   */
  getSharedByBinary(database: number, keyBytes: number): Buffer | undefined;
  getBufferAddress(buffer: Buffer): number;
  /**
   * A view of `length` bytes of the process, below 2^32. It must not be used when they are gone.
   */
  createBufferForAddress(address: number, length: number): Buffer;
}

interface NativeAddon extends MapAccess {
  readonly Env: new () => NativeEnvironment;
}

function nativeAddon(): NativeAddon {
  const addon: unknown = Reflect.get(lmdb, 'nativeAddon');
  return addon as NativeAddon;
}

export function newEnvironment(): NativeEnvironment {
  return new (nativeAddon().Env)();
}

const mapFunctions: readonly (keyof MapAccess)[] = [
  'getSharedByBinary',
  'getBufferAddress',
  'createBufferForAddress',
];

/** Undefined when the package lacks one of the functions. */
export function mapAccess(): MapAccess | undefined {
  const addon = nativeAddon();
  const hasAll = mapFunctions.every((name) => typeof Reflect.get(addon, name) === 'function');
  return hasAll ? addon : undefined;
}
