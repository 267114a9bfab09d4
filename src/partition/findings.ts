import type { Bytes } from '../base/bytes.js';

/** A fault of the key space, or a part of it that was not compared. */
export type Finding =
  | NotCompared
  | { readonly kind: 'abandoned operation'; readonly operation: number }
  /**
   * This process has not opened the store, or has opened another one under its name: the store was
   * not compared.
   */
  | { readonly kind: 'location mismatch'; readonly store: string }
  /** The store that has the range does not serve it. */
  | { readonly kind: 'no guard'; readonly range: number; readonly store: string }
  /** A guard that the catalogue does not account for. It serves no range, unless `serves`. */
  | {
      readonly kind: 'stray guard';
      readonly range: number;
      readonly store: string;
      readonly serves: boolean;
    }
  /** Data in a store that does not have the range of these data: nobody reads them. */
  | {
      readonly kind: 'stray data';
      readonly range: number;
      readonly store: string;
      readonly keys: number;
      readonly first: Bytes;
    }
  /** An entry whose version exceeds the greatest one that its store has given out. */
  | {
      readonly kind: 'version ahead';
      readonly range: number;
      readonly store: string;
      readonly version: number;
      readonly last: number;
    };

/**
 * An operation works on the range, or has replaced it, so what a store has of it was not compared.
 */
export interface NotCompared {
  readonly kind: 'not compared';
  readonly store: string;
  readonly range: number;
  /** 0: the operation is over, or not known. */
  readonly operation: number;
  /** The bounds of the data of the range. */
  readonly start: Bytes;
  readonly end: Bytes;
}

/** How far stores were compared: in the order of their names, and each range after range. */
export interface ComparedUntil {
  readonly store: string;
  /** The ranges before this key were compared there. Undefined: all of them. */
  readonly key: Bytes | undefined;
}
