import { fittingLocations } from '../../wire/http/header-block.js';

/** Name, value, …: the headers that say where what was created is, as far as there is room. */
export function locationHeaders(location: string, form: 'with-id' | 'alone'): string[] {
  const wanted =
    form === 'with-id' ? (['Location', 'DataServiceId'] as const) : (['Location'] as const);
  return fittingLocations(location, wanted).flatMap((name) => [name, location]);
}
