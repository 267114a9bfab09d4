import { InvalidSettingError } from '../invalid-setting-error.js';
import { fits, mistakesIn } from './check.js';
import { mistakeText, within } from './mistake.js';
import type { Shape } from './shape.js';

/**
 * The value of a setting that has its shape. Throws `InvalidSettingError`, which says where it has
 * not, from `place` on.
 */
export function checkedSetting<Value>(shape: Shape<Value>, value: unknown, place: string): Value {
  if (fits(shape, value)) return value;
  const { told } = mistakesIn(shape, value);
  const lines = told.map((mistake) =>
    mistakeText(mistake.path.length === 0 ? mistake : within(place, mistake), place),
  );
  throw new InvalidSettingError([...new Set(lines)].join('\n'));
}
