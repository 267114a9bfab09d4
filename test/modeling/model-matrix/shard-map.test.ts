import { modelMatrix } from './matrix.js';

modelMatrix('a shard map');
