import { escapeKeyText } from '../../definition/key-escape.js';
import { reservedPartitionKeys } from '../../definition/reserved-keys.js';
import { DecodeError } from '../../rows/model-error.js';
import type { Row, RowKey, RowProperties } from '../../rows/row.js';
import { putOver } from '../../table/conditional-write.js';
import { FollowedState, type FollowOptions } from '../../table/followed-state.js';
import type { TableGateway } from '../../table/gateway.js';
import { countIn, storedText, textIn } from '../../rows/row-parts.js';
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

/** The stored phase and progress of a move. */
export class StoredControl extends FollowedState<Control> {
  readonly #table: TableGateway;
  readonly #move: string;

  constructor(table: TableGateway, move: string, options: FollowOptions) {
    super(options);
    this.#table = table;
    this.#move = move;
  }

  /** One insert or update, under the ETag that was read. */
  write(control: Control): Promise<Control> {
    return this.noting(async () => {
      const row = controlRow(this.#move, control);
      const { etag } = await this.#table.write(putOver(row, control.etag));
      return { ...control, etag };
    });
  }

  /** One point read. */
  protected override async load(): Promise<Control> {
    const row = await this.#table.get(controlKey(this.#move));
    if (row === undefined) {
      return { phase: 'old', version: 0, progress: noProgress, etag: undefined };
    }
    const phase = textIn(row.properties, 'Phase') ?? '';
    if (!isPhase(phase)) {
      throw new DecodeError(
        `the move '${this.#move}' is in the phase '${phase}', which is not known here`,
      );
    }
    return {
      phase,
      version: Number(countIn(row.properties, 'Version')),
      etag: row.etag,
      progress: {
        walk: Number(countIn(row.properties, 'Walk')),
        cursor: textIn(row.properties, 'Cursor'),
        checked: Number(countIn(row.properties, 'Checked')),
        written: Number(countIn(row.properties, 'Written')),
      },
    };
  }
}

function controlRow(move: string, { phase, version, progress }: Control): Row {
  const { walk, cursor, checked, written } = progress;
  const properties: RowProperties = {
    EntityType: storedText('ReKeying'),
    Phase: storedText(phase),
    Version: { type: 'Int32', value: version },
    Walk: { type: 'Int32', value: walk },
    Checked: { type: 'Int64', value: BigInt(checked) },
    Written: { type: 'Int64', value: BigInt(written) },
    ...(cursor === undefined ? {} : { Cursor: storedText(cursor) }),
  };
  return { ...controlKey(move), properties };
}
