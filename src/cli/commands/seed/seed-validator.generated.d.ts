import type { Validator } from '../../../core/validators.generated.js';

/** Of a seed file. */
export declare const SEED_VALIDATOR: Validator;
