import { acceptFull, entityPath, type WireClient } from './client.js';
import type { WireResponse } from './response.js';

let rows = 0;

/** The JSON of one property `v`, annotated unless `type` is undefined. */
export function member(json: string, type?: string): string {
  return type === undefined ? `"v":${json}` : `"v@odata.type":"${type}","v":${json}`;
}

export interface Written {
  readonly response: WireResponse;
  /** Members after Timestamp in fullmetadata, byte for byte; undefined when nothing is stored. */
  readonly stored: string | undefined;
}

/** Inserts an entity with the given members and reads it. */
export async function writeAndRead(
  client: WireClient,
  table: string,
  members: string,
): Promise<Written> {
  rows += 1;
  const rowKey = `row${rows}`;
  const body = `{"PartitionKey":"p","RowKey":"${rowKey}",${members}}`;
  const response = await client.insert(table, body, { Prefer: 'return-no-content' });
  const read = await client.send({
    path: entityPath(table, 'p', rowKey),
    headers: { Accept: acceptFull },
  });
  if (read.status === 404) return { response, stored: undefined };
  return { response, stored: /"Timestamp":"[^"]+",(.*)\}$/s.exec(read.text)?.[1] ?? '' };
}
