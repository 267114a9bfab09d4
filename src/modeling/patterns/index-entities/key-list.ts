import { own } from '../../../base/own.js';
import { DecodeError } from '../../rows/model-error.js';
import { stringUnitsMax } from '../../rows/row-size.js';
import type { RowKey, RowProperties, WireValue } from '../../rows/row.js';
import { compareTexts } from '../../rows/text-order.js';

/**
 * The list of an index entity: distinct texts in ordinal order. A text names an entity: by its
 * RowKey when the partition is known, otherwise by `PartitionKey/RowKey`, because keys contain no
 * slash.
 */
export type KeyList = readonly string[];

/** A change of a list. Afterwards it contains the added texts and none of the removed ones. */
export interface ListChange {
  readonly add: KeyList;
  readonly remove: KeyList;
}

/** `PartitionKey/RowKey`. */
export function textOfKey({ partitionKey, rowKey }: RowKey): string {
  return `${partitionKey}/${rowKey}`;
}

/** Throws `DecodeError` for a text without a slash. */
export function keyOfText(text: string): RowKey {
  const slash = text.indexOf('/');
  if (slash < 0) throw new DecodeError(`'${text}' in an index entity is no PartitionKey/RowKey`);
  return { partitionKey: text.slice(0, slash), rowKey: text.slice(slash + 1) };
}

/** The list after the change; the same object when nothing changes. */
export function changeList(list: KeyList, { add, remove }: ListChange): KeyList {
  const texts = new Set(list);
  let isChanged = false;
  for (const text of remove) isChanged = texts.delete(text) || isChanged;
  for (const text of add) {
    isChanged ||= !texts.has(text);
    texts.add(text);
  }
  return isChanged ? [...texts].sort(compareTexts) : list;
}

/** Properties that a row has for lists at most: with 64 KiB each they stay below 1 MiB. */
export const listPropertiesMax = 15;

/**
 * The list as JSON arrays in properties `name`, `name_2`, `name_3` and so on, each within 64 KiB.
 * The number of properties is not bounded: the caller checks it.
 */
export function encodeList(name: string, list: KeyList): RowProperties {
  const properties: Record<string, WireValue> = {};
  let texts: string[] = [];
  let units = 2;
  let count = 0;
  const flush = (): void => {
    count += 1;
    const value = `[${texts.join(',')}]`;
    properties[count === 1 ? name : `${name}_${count}`] = { type: 'String', value };
    texts = [];
    units = 2;
  };
  for (const text of list) {
    const written = JSON.stringify(text);
    if (texts.length > 0 && units + written.length + 1 > stringUnitsMax) flush();
    texts.push(written);
    units += written.length + 1;
  }
  flush();
  return properties;
}

/** The size of a list in a row: UTF-16 code units of its JSON. */
export function listUnits(list: KeyList): number {
  return list.reduce((units, text) => units + JSON.stringify(text).length + 1, 2);
}

/** Decodes a list; empty when the row has none. Throws `DecodeError`. */
export function decodeList(name: string, properties: RowProperties): KeyList {
  const list: string[] = [];
  for (let count = 1; ; count += 1) {
    const found = own(properties, count === 1 ? name : `${name}_${count}`);
    if (found === undefined) return list;
    list.push(...parseTexts(name, found));
  }
}

function parseTexts(name: string, { type, value }: WireValue): readonly string[] {
  try {
    const parsed: unknown = type === 'String' ? JSON.parse(value) : undefined;
    if (Array.isArray(parsed) && parsed.every((text) => typeof text === 'string')) return parsed;
  } catch (cause) {
    throw new DecodeError(`'${name}' of an index entity is no JSON`, { cause });
  }
  throw new DecodeError(`'${name}' of an index entity is no JSON array of texts`);
}
