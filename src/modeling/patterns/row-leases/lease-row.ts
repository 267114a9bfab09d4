import { Instant } from '../../rows/instant.js';
import { own } from '../../../base/own.js';
import { reservedRowKeys } from '../../definition/reserved-keys.js';
import { DecodeError, ValueError } from '../../rows/model-error.js';
import { countIn, textIn } from '../../rows/row-parts.js';
import type { Row, RowKey, RowProperties, StoredRow } from '../../rows/row.js';
import { ticksPerMillisecond } from '../../rows/ticks.js';

/**
 * A lease is a row of its own in the partition of the entity, so that one transaction can write
 * both, and nothing that writes the entity can lose the lease:
 *
 *   RowKey      ~lease_<RowKey of the entity>
 *   Token       Int64, counts acquisitions; never decreases
 *   LeaseId     String, of this acquisition; absent: nobody holds the lease
 *   Holder      String, the name of the holder, for people
 *   DurationMs  Int64, from the row's Timestamp on
 *   LeaseWrite  String, id of the last write of this row
 *
 * The row stays when the lease is released, because the token continues from it.
 */
const { lease: prefix } = reservedRowKeys;
const rowType = 'RowLease';
const keyUnitsMax = 512;

export interface Grant {
  readonly id: string;
  readonly holder: string;
  readonly fenceToken: bigint;
  readonly durationMs: number;
}

/** The content of a lease row. */
export interface LeaseState {
  readonly etag: string;
  readonly fenceToken: bigint;
  /** Undefined when the lease is free. */
  readonly grant: Grant | undefined;
  /** When the grant ends by the service's clock. */
  readonly until: Instant;
  readonly write: string;
}

/** Throws `ValueError` when the RowKey is too long for the prefix. */
export function leaseKey({ partitionKey, rowKey }: RowKey): RowKey {
  if (prefix.length + rowKey.length > keyUnitsMax) {
    throw new ValueError(
      `a RowKey of ${rowKey.length} characters leaves no room for its lease: ` +
        `at most ${keyUnitsMax - prefix.length}`,
    );
  }
  return { partitionKey, rowKey: prefix + rowKey };
}

/** The row of a granted lease, or of a free one with the token of the last grant. */
export function leaseRow(
  key: RowKey,
  grant: Grant | { readonly fenceToken: bigint },
  id: string,
): Row {
  const properties: RowProperties = {
    EntityType: { type: 'String', value: rowType },
    Token: { type: 'Int64', value: grant.fenceToken },
    LeaseWrite: { type: 'String', value: id },
  };
  if (!('id' in grant)) return { ...key, properties };
  return {
    ...key,
    properties: {
      ...properties,
      LeaseId: { type: 'String', value: grant.id },
      Holder: { type: 'String', value: grant.holder },
      DurationMs: { type: 'Int64', value: BigInt(grant.durationMs) },
    },
  };
}

/** Throws `DecodeError` for a row that is no lease: it must not be written over. */
export function leaseState({ etag, timestamp, rowKey, properties }: StoredRow): LeaseState {
  if (own(properties, 'EntityType')?.value !== rowType) {
    throw new DecodeError(
      `'${rowKey}' is not the lease that belongs there: another program wrote it`,
    );
  }
  const text = (name: string): string => textIn(properties, name) ?? '';
  const id = text('LeaseId');
  const fenceToken = countIn(properties, 'Token');
  const durationMs = Number(countIn(properties, 'DurationMs'));
  return {
    etag,
    fenceToken,
    grant: id === '' ? undefined : { id, holder: text('Holder'), fenceToken, durationMs },
    until: Instant.ofTicks(timestamp + BigInt(durationMs) * ticksPerMillisecond),
    write: text('LeaseWrite'),
  };
}
