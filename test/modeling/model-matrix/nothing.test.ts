import { modelMatrix } from './matrix.js';

modelMatrix('nothing');
