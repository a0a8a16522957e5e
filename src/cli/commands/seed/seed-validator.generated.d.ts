import type { Validator } from '../../../core/validators.generated.js';

/** Validates a seed file. */
export declare const SEED_VALIDATOR: Validator;
