/** Entities that every server holds before the clock starts, unless it is told otherwise. */
export const defaultRows = 20_000;
/** Blobs that every server holds before the clock starts, unless it is told otherwise. */
export const defaultBlobs = 20_000;
/** The number of entities in each partition. */
export const partitionRows = 1000;
/** Values of `Bucket`: a filter on one of them matches 1 % of a partition. */
export const bucketCount = 100;
/** Operations in one entity group transaction: the most that the protocol allows. */
export const batchRows = 100;
export const tableName = 'Bench';

export function partitionKey(partition: number): string {
  return `p${String(partition).padStart(partitionKeyDigits, '0')}`;
}

/** Digits wherever a key is patched into prebuilt bytes, so that lengths never change. */
export const partitionKeyDigits = 5;
export const rowKeyDigits = 10;

export function rowKey(row: number): string {
  return `r${String(row).padStart(rowKeyDigits, '0')}`;
}

const words = 'amber basalt cedar delta ember fjord granite harbour island juniper'.split(' ');

/** A text of exactly `length` characters that depends on `seed`. */
export function prose(seed: number, length: number): string {
  let text = '';
  for (let state = seed; text.length < length; state = Math.imul(state, 1664525) + 1013904223) {
    text += `${words[(state >>> 16) % words.length] ?? ''} `;
  }
  return text.slice(0, length);
}

/**
 * The JSON that a client sends to insert one entity: about 1 KB, ten properties of all eight
 * types. Two entities with the same arguments are equal byte for byte.
 */
export function entityJson(partition: string, row: string, seed: number): string {
  const digits = String(seed).padStart(12, '0');
  const properties = [
    `"PartitionKey":"${partition}","RowKey":"${row}"`,
    `"Name":"${prose(seed, 40)}"`,
    `"Bucket":${seed % bucketCount}`,
    `"Score":${(seed % 1000) + 0.25}`,
    `"Active":${seed % 2 === 0}`,
    `"Created@odata.type":"Edm.DateTime","Created":"2025-11-21T10:00:00.${digits.slice(-7)}Z"`,
    `"Total@odata.type":"Edm.Int64","Total":"90071992${digits.slice(-7)}"`,
    `"Owner@odata.type":"Edm.Guid","Owner":"0f8fad5b-d9cb-469f-a165-${digits}"`,
    `"Digest@odata.type":"Edm.Binary","Digest":"${Buffer.from(prose(seed + 1, 48)).toString('base64')}"`,
    `"City":"${prose(seed + 2, 24)}"`,
    `"Description":"${prose(seed + 3, 420)}"`,
  ];
  return `{${properties.join(',')}}`;
}

/** The JSON that a client sends to change two properties of an entity, whatever they were. */
export function changeJson(partition: string, row: string, seed: number): string {
  const properties = [
    `"PartitionKey":"${partition}","RowKey":"${row}"`,
    `"Score":${(seed % 1000) + 0.75}`,
    `"City":"${prose(seed, 24)}"`,
  ];
  return `{${properties.join(',')}}`;
}
