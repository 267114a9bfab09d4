import { isRecord } from '../../../base/record.js';
import { ValueError } from '../../rows/model-error.js';

/** Throws `ValueError` for anything but a finite number from 0 to `max`. */
export function checkFigure(value: number | undefined, what: string, max = Infinity): void {
  if (value === undefined || (value >= 0 && value <= max && Number.isFinite(value))) return;
  throw new ValueError(`${what}: ${value} is no such figure`);
}

/** Checks every number of plain data, however deep, and names the invalid one in the error. */
export function checkFigures(data: unknown, what: string): void {
  if (typeof data === 'number') return checkFigure(data, what);
  if (Array.isArray(data)) {
    data.forEach((each: unknown, index) => checkFigures(each, `${what}[${index}]`));
  } else if (isRecord(data)) {
    for (const [name, each] of Object.entries(data)) {
      checkFigures(each, what === '' ? name : `${what}.${name}`);
    }
  }
}
