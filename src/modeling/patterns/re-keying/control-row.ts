import { escapeKeyText } from '../../definition/key-escape.js';
import { reservedPartitionKeys } from '../../definition/reserved-keys.js';
import { DecodeError } from '../../rows/model-error.js';
import type { Row, RowKey, RowProperties, StoredRow } from '../../rows/row.js';
import type { TableGateway } from '../../table/gateway.js';
import { text, textIn } from './move-mark.js';
import { isPhase, type Phase } from './phase.js';

/** The partition of control rows. */
const { reKeying: partition } = reservedPartitionKeys;

/** The progress of a walk over the rows. */
export interface Progress {
  /** The index of the walk in its phase. */
  readonly walk: number;
  /** Where it resumes; undefined: at its beginning. */
  readonly cursor: string | undefined;
  readonly checked: number;
  readonly written: number;
}

export interface Control {
  readonly phase: Phase;
  /** The number of changes of the phase. */
  readonly version: number;
  readonly progress: Progress;
  /** Undefined: the row does not exist. */
  readonly etag: string | undefined;
}

export const noProgress: Progress = { walk: 0, cursor: undefined, checked: 0, written: 0 };

function controlKey(move: string): RowKey {
  return { partitionKey: partition, rowKey: escapeKeyText(move, '') };
}

/** One point read. */
export async function readControl(table: TableGateway, move: string): Promise<Control> {
  const row = await table.get(controlKey(move));
  if (row === undefined) {
    return { phase: 'old', version: 0, progress: noProgress, etag: undefined };
  }
  const phase = textIn(row.properties, 'Phase') ?? '';
  if (!isPhase(phase)) {
    throw new DecodeError(`the move '${move}' is in the phase '${phase}', which is not known here`);
  }
  return {
    phase,
    version: countIn(row, 'Version'),
    etag: row.etag,
    progress: {
      walk: countIn(row, 'Walk'),
      cursor: textIn(row.properties, 'Cursor'),
      checked: countIn(row, 'Checked'),
      written: countIn(row, 'Written'),
    },
  };
}

/** One insert or update, under the ETag that was read. */
export async function writeControl(
  table: TableGateway,
  move: string,
  control: Control,
): Promise<Control> {
  const row = controlRow(move, control);
  const { etag } = await table.write(
    control.etag === undefined
      ? { kind: 'insert', row }
      : { kind: 'replace', row, etag: control.etag },
  );
  return { ...control, etag };
}

function controlRow(move: string, { phase, version, progress }: Control): Row {
  const { walk, cursor, checked, written } = progress;
  const properties: RowProperties = {
    EntityType: text('ReKeying'),
    Phase: text(phase),
    Version: { type: 'Int32', value: version },
    Walk: { type: 'Int32', value: walk },
    Checked: { type: 'Int64', value: BigInt(checked) },
    Written: { type: 'Int64', value: BigInt(written) },
    ...(cursor === undefined ? {} : { Cursor: text(cursor) }),
  };
  return { ...controlKey(move), properties };
}

function countIn({ properties }: StoredRow, name: string): number {
  const wire = properties[name];
  return wire?.type === 'Int32' || wire?.type === 'Int64' ? Number(wire.value) : 0;
}
