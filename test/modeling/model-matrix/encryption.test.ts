import { modelMatrix } from './matrix.js';

modelMatrix('encryption');
