import type { OperationId } from '../contract/operations.ts';
import type { Validator } from './validators.generated.js';

/** For tests only. An operation without a result (204) has no entry. */
export declare const RESULT_VALIDATORS: Readonly<Partial<Record<OperationId, Validator>>>;
export declare const PROBLEM_VALIDATOR: Validator;
