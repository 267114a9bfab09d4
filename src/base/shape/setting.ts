import { InvalidSettingError } from '../invalid-setting-error.js';
import { fits, mistakesIn } from './check.js';
import { mistakeText, within } from './mistake.js';
import type { Shape } from './shape.js';

/** The checked value of a setting. Throws `InvalidSettingError`, whose paths begin with `name`. */
export function checkedSetting<Value>(shape: Shape<Value>, value: unknown, name: string): Value {
  if (fits(shape, value)) return value;
  const { shown } = mistakesIn(shape, value);
  const lines = shown.map((mistake) =>
    mistakeText(mistake.path.length === 0 ? mistake : within(name, mistake), name),
  );
  throw new InvalidSettingError([...new Set(lines)].join('\n'));
}
