import { modelMatrix } from './matrix.js';

// Each case takes many times as long as over one of the three alone.
modelMatrix('encrypted large values of shards', 3);
