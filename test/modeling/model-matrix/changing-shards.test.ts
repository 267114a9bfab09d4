import { describe } from 'node:test';
import { costly } from '../../support/run-length.js';
import { modelMatrix } from './matrix.js';

// Each case takes many times as long as over shards that stay.
describe('beside changes of the map', costly(), () => {
  modelMatrix('a shard map that changes', 8);
});
