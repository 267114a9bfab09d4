import { modelMatrix } from './matrix.js';

modelMatrix('large values');
