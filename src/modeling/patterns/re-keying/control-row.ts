import { escapeKeyText } from '../../definition/key-escape.js';
import { reservedPartitionKeys } from '../../definition/reserved-keys.js';
import { DecodeError } from '../../rows/model-error.js';
import { countIn, storedText, textIn } from '../../rows/row-parts.js';
import type { RowKey, RowProperties } from '../../rows/row.js';
import type { TableGateway } from '../../table/gateway.js';
import { FollowedState, type FollowOptions, type StateRow } from '../moves/followed-state.js';
import { walkBeginning, type WalkPosition } from '../moves/walk.js';
import { isPhase, type Phase } from './phase.js';

/** The partition of control rows. */
const { reKeying: partition } = reservedPartitionKeys;

/** The progress of a move. */
export interface Control {
  readonly phase: Phase;
  /** The number of changes of the phase. */
  readonly version: number;
  /** The position of the walks of the phase. */
  readonly place: WalkPosition;
}

/** The stored phase and progress of a move. */
export type StoredControl = FollowedState<Control>;

/** Sends nothing. */
export function storedControl(
  table: TableGateway,
  move: string,
  options: FollowOptions,
): StoredControl {
  const key: RowKey = { partitionKey: partition, rowKey: escapeKeyText(move, '') };
  const row: StateRow<Control> = {
    table,
    key,
    kind: 'move',
    name: move,
    rowOf: (control) => ({ ...key, properties: propertiesOf(control) }),
    stateOf: ({ properties }) => controlIn(properties, move),
    initial: () => ({ phase: 'old', version: 0, place: walkBeginning }),
  };
  return new FollowedState(row, options);
}

function propertiesOf({ phase, version, place }: Control): RowProperties {
  const { segment, at, items, changes, refused } = place;
  return {
    EntityType: storedText('ReKeying'),
    Phase: storedText(phase),
    Version: { type: 'Int32', value: version },
    Walk: { type: 'Int32', value: segment },
    Checked: { type: 'Int64', value: BigInt(items) },
    Written: { type: 'Int64', value: BigInt(changes) },
    Refused: { type: 'Int64', value: BigInt(refused) },
    ...(at === undefined ? {} : { Cursor: storedText(at) }),
  };
}

function controlIn(properties: RowProperties, move: string): Control {
  const phase = textIn(properties, 'Phase') ?? '';
  if (!isPhase(phase)) {
    throw new DecodeError(`the move '${move}' is in the phase '${phase}', which is not known here`);
  }
  return {
    phase,
    version: Number(countIn(properties, 'Version')),
    place: {
      segment: Number(countIn(properties, 'Walk')),
      at: textIn(properties, 'Cursor'),
      items: Number(countIn(properties, 'Checked')),
      changes: Number(countIn(properties, 'Written')),
      refused: Number(countIn(properties, 'Refused')),
    },
  };
}
